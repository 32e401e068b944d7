// Requests of a transaction to cancel jobs that executors have in flight, placed when it commits.
#pragma once

#include <cstdint>
#include <string>

#include "shared/executors/stop_control.hpp"

namespace hipq::executors {

enum class AskWhen : unsigned char {
    now,
    // Placed only if the transaction and its savepoint commit. The answer is the state of the job
    // now; a job that has ended by the time of the commit keeps its own end.
    at_commit,
};

// Requests the cancellation of a job of this database that an executor has in flight. `error` is
// truncated to what fits, at a character boundary.
CancelAnswer ask_for_cancellation(std::int64_t job_id, const std::string &error, AskWhen when);

// Registers the callbacks. _PG_init calls it once; call inside pg::call() only.
void watch_cancellations();

}  // namespace hipq::executors
