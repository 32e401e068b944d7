// Runs one statement of a handler as its own top-level statement, as a client would have sent it:
// through a portal, without SPI.
#pragma once

#include "catalog/catalog.hpp"
#include "job/job.hpp"

namespace hipq::execute {

// Calls the handler of one job, or a batch handler with several, in the open transaction. Returns
// the result of each (jsonb, or NULL) in `memory`: a batch handler gives an array of them, or one
// for all. A procedure or a statement such as VACUUM may commit and go on in a new transaction.
// Raises what the handler raises, and 22023 for an array of another length.
std::vector<pg::RawValue> run_handler(const catalog::Handler &handler,
                                      std::span<const job::ClaimedJob> jobs, MemoryContext memory);

// Calls a retry handler: the delay in microseconds, or nothing for NULL or no row ("no retry").
// Raises what it raises, 42804 if it gives something else, and 22008 for a delay past the last time
// that there is.
std::optional<std::int64_t> run_retry_handler(const catalog::Handler &handler,
                                              const job::ClaimedJob &job, MemoryContext memory);

// After either: what user code has put off until the commit happens now, in an executor's session:
// as the queue owner, under the deadline and before the finish. Deferred triggers run until there
// are none; WITH HOLD cursors, whose queries the commit would run to their end, are closed. Raises
// what triggers raise.
void end_user_code();

}  // namespace hipq::execute
