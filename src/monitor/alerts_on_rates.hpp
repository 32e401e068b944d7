// Alerts on rates of counted jobs, computed in monitor/statistics_functions.cpp.
#pragma once

#include "pg/arguments.hpp"

namespace hipq::monitor {

// Adds rows of hipq._alerts() for every queue of the server whose rates are beyond their limits
// now. The rows disappear when the rates recover.
void list_rate_alerts(pg::ResultSet &result);

}  // namespace hipq::monitor
