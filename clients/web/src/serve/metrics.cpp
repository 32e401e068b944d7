// Metrics of hipq-web for Prometheus: those of its database, with the rights of the service.
#include "serve/metrics.hpp"

#include "http/problem.hpp"
#include "metrics/open_metrics.hpp"

namespace hipq::web {

std::string Metrics::ask()
{
    try {
        if (!connection_)
            connection_ = std::make_unique<client::Connection>(conninfo_);
        return metrics::open_metrics(*connection_);
    } catch (const client::Error &error) {
        connection_.reset();
        throw Problem(503, error.what());
    }
}

std::string Metrics::text()
{
    const std::lock_guard lock(mutex_);
    const bool was_there = connection_ != nullptr;
    try {
        return ask();
    } catch (const Problem &) {
        if (!was_there)
            throw;
    }
    // The server may have restarted since the last query.
    return ask();
}

}  // namespace hipq::web
