// Serves one page over HTTP, for Prometheus.
#pragma once

#include "hipq/client/loop.hpp"

#include "child/pipe.hpp"

namespace hipq::run {

class Http {
public:
    // Throws UsageError if the address is in use or does not exist.
    Http(client::Loop &loop, const std::string &address, std::function<std::string()> page);
    Http(const Http &) = delete;
    Http &operator=(const Http &) = delete;
    ~Http();

private:
    struct Client {
        Descriptor descriptor;
        std::string request;
        std::string answer;
        client::Loop::Timer timer;
    };

    void accept();
    void serve(int descriptor);
    void send(int descriptor);
    void close(int descriptor);
    std::string answer_to(const std::string &request) const;

    client::Loop &loop_;
    std::function<std::string()> page_;
    Descriptor listener_;
    std::map<int, Client> clients_;
};

}  // namespace hipq::run
