// Jobs in the session and transaction of a client, for the tests of those who use hipq. The jobs
// are claimed, called, finished and resolved as executors do it, with subtransactions in the place
// of transactions.
//
// A handler runs with the queue owner's rights, and with the client's settings. What is for
// executors is not there: the job's timeout, throttle limits (one job runs at a time), and whatever
// keeps executors from working. A cancellation, and so a statement_timeout, ends the call and not a
// job alone.
#pragma once

#include "job/job.hpp"

namespace hipq::testing {

// Runs due jobs, those that handlers enqueue too, until there are none, or `most` attempts were
// made; returns how many were. Jobs that an executor would not start now for their windows, a pause
// or their handler are passed over, and those that somebody else holds. Raises 0A000 for a handler
// that may commit. Needs a transaction in read committed.
int run_until_idle(int queue_id, int most);

// What a handler would do with a job, due or not: nothing of it stays.
struct Trial {
    pg::RawValue result;             // jsonb
    std::optional<pg::Error> error;  // that the handler raised
    std::int64_t duration;           // microseconds
};
// Of a waiting or final job. Raises 0A000 as above, 55000 without a handler that can run, 55P03
// when somebody holds the job.
Trial try_handler(const catalog::Queue &queue, std::int64_t id);

// When the job would be retried if an attempt failed so: microseconds from then; nothing: never.
// The type's retry handler is asked, if it has one, and raises what it raises. Of a waiting or
// final job; nothing of it stays. Raises 55P03 as above.
std::optional<std::int64_t> try_failure(const catalog::Queue &queue, std::int64_t id,
                                        const job::Failure &failure);

}  // namespace hipq::testing
