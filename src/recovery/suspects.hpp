// Carries out the verdict of the flight recorder on a crash of the server
// (core/recovery/crash_report.hpp).
#pragma once

#include "recovery/rescue.hpp"

namespace hipq::recovery {

// Charges the jobs that took the server down, and rescues the jobs that ran beside them. Uses its
// own transactions.
void close_crash_cases(PostponedJobs &postponed);

// Closes cases whose jobs ended without running again. Uses its own transaction if there are cases.
void forget_stale_cases();

}  // namespace hipq::recovery
