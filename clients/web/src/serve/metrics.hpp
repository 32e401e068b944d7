// Metrics of hipq-web for Prometheus: those of its database, with the rights of the service.
#pragma once

#include <hipq/client/connection.hpp>
#include <memory>
#include <mutex>
#include <string>

namespace hipq::web {

class Metrics {
public:
    explicit Metrics(std::string conninfo) : conninfo_(std::move(conninfo)) {}

    // The current metrics, as OpenMetrics. They use their own connection, because they count jobs.
    // Throws Problem 503 while there is no server.
    std::string text();

private:
    std::string ask();

    std::string conninfo_;
    std::mutex mutex_;
    std::unique_ptr<client::Connection> connection_;
};

}  // namespace hipq::web
