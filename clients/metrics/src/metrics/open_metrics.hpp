// The metrics of one database as OpenMetrics text: what monitoring/queries.yaml asks.
#pragma once

#include <libpq-fe.h>

#include <string>

namespace hipq::metrics {

inline constexpr const char *content_type =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// Asks over a connection that is in no transaction. What the role may not see is left out, and
// hipq_metrics_failed says so. Throws client::Error when the connection is lost.
std::string open_metrics(PGconn *connection);

}  // namespace hipq::metrics
