// What stands between a job and its start: conditions, limits, weights, time windows. What other
// rooms may use.
#pragma once

#include "limits/conditions.hpp"
#include "limits/start_windows.hpp"
#include "limits/weight.hpp"
#include "limits/worker_condition.hpp"
