// Carries out what the flight recorder's verdict over a crash of the server says
// (core/recovery/crash_report.hpp).
#pragma once

#include "recovery/rescue.hpp"

namespace hipq::recovery {

// Charges those that took the server down, rescues those that were there. In its own
// transactions.
void close_crash_cases(PostponedJobs &postponed);

// Closes cases whose jobs ended without running again. Runs its own transaction if there are any
// cases.
void forget_stale_cases();

}  // namespace hipq::recovery
