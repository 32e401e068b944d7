// What shared memory knows of external workers and of the jobs they have. What other rooms may use.
#pragma once

#include "workers/jobs.hpp"
#include "workers/progress.hpp"
#include "workers/registered.hpp"
