// Carries out the verdict of the flight recorder on a crash of the server
// (core/recovery/crash_report.hpp).
#pragma once

#include "recovery/recovery.hpp"
#include "recovery/rescue.hpp"

namespace hipq::recovery {

// Charges the jobs that took the server down, and rescues the jobs that ran beside them. Uses its
// own transactions.
void close_crash_cases(PostponedJobs &postponed);

}  // namespace hipq::recovery
