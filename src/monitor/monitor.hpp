// What operators look at: why a job waits, progress, statistics, alerts, waiting for an end.
// Declares what other rooms may use.
#pragma once

#include "monitor/job_conditions.hpp"
