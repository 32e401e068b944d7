// Alerts that follow from what is counted of jobs; api/statistics.cpp.
#pragma once

#include "api/arguments.hpp"

namespace hipq::api {

// Adds rows of hipq._alerts(): of every queue of the server whose rates are beyond their limits now. They go when the rates do.
void list_rate_alerts(ResultSet &result);

}  // namespace hipq::api
