// Runs one statement of a handler as its own top-level statement, as a client would have sent it:
// through a portal, without SPI.
#pragma once

#include "catalog/handler.hpp"
#include "execute/execute.hpp"
#include "job/claimed_job.hpp"

namespace hipq::execute {

// After either: what user code has put off until the commit happens now, in an executor's session:
// as the queue owner, under the deadline and before the finish. Deferred triggers run until there
// are none; WITH HOLD cursors, whose queries the commit would run to their end, are closed. Raises
// what triggers raise.
void end_user_code();

}  // namespace hipq::execute
