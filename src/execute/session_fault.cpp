// Decides which failures are the session's fault, and ends this executor after one.
#include "execute/session_fault.hpp"

#include "job/finish.hpp"
#include "shared/executors/own_executor.hpp"

namespace hipq::execute {

std::optional<core::Reason> fault_of_session(const job::Failure &failure, bool is_warm)
{
    return core::session_fault(failure.sqlstate, failure.error, {DefaultXactReadOnly, is_warm});
}

void leave_session(core::Reason fault)
{
    if (fault == core::Reason::read_only)
        executors::note_read_only(pg::Time{::GetCurrentTimestamp()});
    executors::leave_soon();
}

}  // namespace hipq::execute
