// Reports the state of hipq-run to systemd: ready, stopping, still alive (sd_notify(3)).
#pragma once

#include "hipq/client/loop.hpp"

#include <optional>
#include <string>

namespace hipq::run {

class Notify {
public:
    // NOTIFY_SOCKET and WATCHDOG_USEC have the address, and how often to report.
    explicit Notify(client::Loop &loop);
    Notify(const Notify &) = delete;
    Notify &operator=(const Notify &) = delete;
    ~Notify();

    void tell(const std::string &state) const;

private:
    void keep_alive();

    client::Loop &loop_;
    std::string socket_;
    std::optional<client::Loop::Milliseconds> interval_;
    client::Loop::Timer timer_;
};

}  // namespace hipq::run
