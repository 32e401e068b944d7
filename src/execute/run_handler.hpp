// Ends a handler's user code in an executor's session.
#pragma once

#include "catalog/handler.hpp"
#include "execute/execute.hpp"
#include "job/claimed_job.hpp"

namespace hipq::execute {

// Call after run_handler() or run_retry_handler(), in an executor's session. What user code has
// deferred to the commit happens now: as the queue owner, under the deadline and before the finish.
// Deferred triggers fire until there are none. WITH HOLD cursors, whose queries the commit would
// run to their end, are closed. Raises what triggers raise.
void end_user_code();

}  // namespace hipq::execute
