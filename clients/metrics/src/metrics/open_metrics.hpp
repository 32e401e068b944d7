// The metrics of one database as OpenMetrics text: the queries of monitoring/queries.yaml.
#pragma once

#include <libpq-fe.h>

#include <string>

namespace hipq::metrics {

inline constexpr const char *content_type =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// Uses a connection without an open transaction. Leaves out what the role may not see, and reports
// it in hipq_metrics_failed. Throws client::Error when the connection is lost.
std::string open_metrics(PGconn *connection);

}  // namespace hipq::metrics
