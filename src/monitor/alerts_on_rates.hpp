// Alerts that follow from what is counted of jobs; monitor/statistics_functions.cpp.
#pragma once

#include "pg/arguments.hpp"

namespace hipq::monitor {

// Adds rows of hipq._alerts(): of every queue of the server whose rates are beyond their limits
// now. They go when the rates do.
void list_rate_alerts(pg::ResultSet &result);

}  // namespace hipq::monitor
