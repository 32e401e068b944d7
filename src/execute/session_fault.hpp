// Failures that are the session's fault, not the job's: another session has to try again.
#pragma once

#include "job/finish.hpp"

namespace hipq::execute {

// Returns the reason, if the session of this executor is to blame (core::session_fault). is_warm: a
// handler had run in the session before.
std::optional<core::Reason> fault_of_session(const job::Failure &failure, bool is_warm);

// Ends this executor soon: its session would fail other jobs, too, and the next executor has a new
// one.
void leave_session(core::Reason fault);

}  // namespace hipq::execute
