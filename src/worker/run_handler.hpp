// Runs one statement of a handler as its own top-level statement, as a client would have sent it: through a portal, without SPI.
#pragma once

#include "storage/claim.hpp"
#include "storage/handler.hpp"

namespace hipq::worker {

// Calls the handler of a job in the open transaction and returns its result (jsonb, or NULL) in `memory`. A procedure or a
// statement such as VACUUM may commit and go on in a new transaction. Raises what the handler raises.
pg::RawValue run_handler(const storage::Handler &handler, const storage::ClaimedJob &job, MemoryContext memory);

// Calls a retry handler: the delay in microseconds, or nothing for NULL ("no retry").
std::optional<std::int64_t> run_retry_handler(const storage::Handler &handler, const storage::ClaimedJob &job,
                                              MemoryContext memory);

}  // namespace hipq::worker
