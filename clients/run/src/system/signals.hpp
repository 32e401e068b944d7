// Signals as events of the loop.
#pragma once

#include "hipq/client/loop.hpp"

namespace hipq::run {

class Signals {
public:
    // Calls functions for signals: stop for SIGTERM, SIGINT and SIGHUP, child for SIGCHLD.
    Signals(client::Loop &loop, std::function<void()> stop, std::function<void()> child);
    Signals(const Signals &) = delete;
    Signals &operator=(const Signals &) = delete;
    ~Signals();

private:
    void read();

    client::Loop &loop_;
    std::function<void()> stop_;
    std::function<void()> child_;
};

}  // namespace hipq::run
