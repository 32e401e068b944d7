// Runs jobs in the session and transaction of a client, for the tests of hipq's users. Claims,
// calls, finishes and resolves jobs as executors do, with subtransactions instead of transactions.
//
// A handler runs with the queue owner's rights and with the client's settings. Features of
// executors are missing: the job's timeout, throttle limits (one job runs at a time), and
// conditions that keep executors from working. A cancellation, and so a statement_timeout, ends the
// whole call, not only one job.
#pragma once

#include "catalog/cache.hpp"
#include "job/finish.hpp"

namespace hipq::testing {

// Runs due jobs, including those that handlers enqueue, until there are none or `most` attempts
// were made; returns the number of attempts. Skips jobs that an executor would not start now
// because of their windows, a pause or their handler, and jobs that another session holds. Raises
// 0A000 for a handler that may commit. Needs a transaction in read committed.
int run_until_idle(int queue_id, int most);

// The result of trying a handler on a job, due or not, without lasting effects.
struct Trial {
    pg::RawValue result;             // jsonb
    std::optional<pg::Error> error;  // raised by the handler
    std::int64_t duration;           // microseconds
};
// Tries the handler on a waiting or final job. Raises 0A000 as above, 55000 if no handler can run,
// and 55P03 if another session holds the job.
Trial try_handler(const catalog::Queue &queue, std::int64_t id);

// Returns the delay (microseconds) after which the job would be retried if an attempt failed this
// way; nothing: never. Calls the type's retry handler, if there is one, and raises its errors. For
// a waiting or final job; has no lasting effects. Raises 55P03 as above.
std::optional<std::int64_t> try_failure(const catalog::Queue &queue, std::int64_t id,
                                        const job::Failure &failure);

}  // namespace hipq::testing
