// What is counted of jobs, in shared memory and in a file while the server is down. What other
// rooms may use.
#pragma once

#include "statistics/counters.hpp"
