// Failures that are the session's fault, not the job's: another session is to try again.
#pragma once

#include "job/finish.hpp"

namespace hipq::execute {

// The reason, if the session of this executor is to blame (core::session_fault). is_warm: a handler
// had run in it before.
std::optional<core::Reason> fault_of_session(const job::Failure &failure, bool is_warm);

// This session would fail other jobs, too: the next executor has another one.
void leave_session(core::Reason fault);

}  // namespace hipq::execute
