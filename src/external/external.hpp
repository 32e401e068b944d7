// External workers: registering, offers to them, and what they report of their jobs. Other rooms
// may use these names.
#pragma once

#include "catalog/cache.hpp"
#include "claim/claim.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"
#include "pg/arguments.hpp"
#include "pg/spi.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::external {

// ---- aim dispatch ----

// What a scheduler keeps about aimed jobs from one look to the next.
struct AimedJobs {
    unsigned seen = 0;       // databases::count_aimed_calls() at the last look; 0: there was none
    bool any = false;        // the last look found such jobs
    pg::Time looked{0};      // when the last look was
    pg::Time not_before{0};  // an earlier look would take too much of the scheduler's time
};

// ---- dispatch ----

// What a scheduler keeps from one dispatch to the next.
struct Dispatcher {
    claim::Claimer claimer;
    std::set<std::int64_t> reported;  // jobs that made trouble, and were logged
    int first_queue = 0;              // the queue whose turn it is to be first
    AimedJobs aimed{};
    workers::JobShares
        shares{};  // as they were when going through the lanes began, and the jobs offered since
};

// Offers due jobs to workers as long as there are workers for them, and notifies the workers on
// their channels. It writes no row: the worker claims a job when it accepts it (accept_rows()).
// Runs transactions of its own. The caller must have checked that jobs may run in this database.
// Returns when to call again even if no process requests it (databases::was_asked_for_dispatch()).
pg::Time dispatch(Dispatcher &dispatcher);

// ---- give up waiting ----

// Fails jobs that have been due for longer than their worker_wait_ttl (worker_unavailable): the
// policy decides what follows. Runs transactions of its own. Returns when to call again.
pg::Time give_up_waiting(const catalog::Catalogue &catalogue);

// ---- held attempt ----

struct AttemptName {
    std::int64_t id;
    int number;
    auto operator<=>(const AttemptName &) const =
        default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a null pointer
};

// Checks that the attempt runs and is the caller's, without locking its row; for callers that find
// nothing about it in shared memory. Records a heartbeat, and raises the same errors as
// hold_attempt().
void look_at_attempt(const catalog::Catalogue &catalogue, AttemptName name);

// ---- look after workers ----

// Reads the workers from the table after a restart; does nothing when they are known.
void read_workers();

// Forgets workers that are gone and have nothing in flight: a while after their session has ended,
// or after a day of silence. Returns when to look again.
pg::Time forget_workers(pg::Time now);

// ---- short ttl ----

// Warns when jobs of the type run so long that a worker with one in flight may not start the next
// within `seconds`: when the measured run time is over half of that. Jobs of a type that have not
// run since the server started have no measured run time.
void warn_of_short_ttl(const catalog::Queue &queue, std::string_view job_type,
                       std::optional<std::int32_t> seconds);

}  // namespace hipq::external
