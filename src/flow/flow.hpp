// Jobs that wait for other jobs: when they start, and what becomes of them if they cannot.
#pragma once

#include "catalog/cache.hpp"
#include "flow/ends_before.hpp"
#include "job/claimed_job.hpp"
#include "job/dependency_rows.hpp"

#include <deque>

namespace hipq::flow {

// ---- release after ----

// Releases jobs that waited for these jobs alone, in the transaction in which they have succeeded.
// Leaves to the scheduler what it cannot do at once: jobs with many others before them, in another
// queue, or locked. Cannot fail the caller: an error undoes what it did.
void release_after(const catalog::Queue &queue, std::span<const job::ClaimedJob> jobs,
                   pg::Time now);

// ---- decide ----

// Decides about held jobs of one queue, as the tables are now: releases those that may start, ends
// those that cannot start any more, and has the ends watched that the others wait for. Needs a
// transaction in READ COMMITTED.
struct Reports {
    std::set<std::int64_t> ended;  // jobs whose ends, or of which new waits, were reported
    OpenEnds &known;               // from earlier decisions about all ends that were reported
};
struct Decisions {
    bool any = false;                               // jobs were released or ended
    std::vector<std::int64_t> locked{};             // jobs that another session has locked
    std::map<std::int64_t, pg::Time> look_again{};  // jobs after open batches, and their last times
};
Decisions decide(const catalog::Catalogue &catalogue, const catalog::Queue &queue,
                 std::vector<std::int64_t> ids, const Reports &reports, pg::Time now);

// ---- look at waits ----

// Held jobs of a queue in the order of their index.
struct HeldPlace {
    std::string job_type;
    std::int64_t id = 0;
};
// The next held jobs of a queue after a place, which moves on; none: there are no more.
std::vector<std::int64_t> held_jobs(const catalog::Queue &queue, HeldPlace &after);

// The scheduler's state of this duty.
struct Waits {
    // Ended jobs whose later jobs must be looked at; of the first, those up to `done` have been.
    std::deque<std::int64_t> ended{};
    job::LaterJob done{};
    OpenEnds open_ends{};
    // A walk over all held jobs of all queues: those still to walk over, and the place in the
    // first.
    std::optional<unsigned> walk{};   // databases::wait_calls() at its beginning; nothing: no walk
    std::optional<unsigned> known{};  // the same, of the last walk; nothing: not read yet
    bool is_walk_whole = true;
    pg::Time walk_again{0};             // not earlier: after one that was not whole
    pg::Time next_walk = pg::infinity;  // against ends that no process reports
    std::deque<int> queues{};
    HeldPlace place{};
    // Jobs that were locked, and when to try them again.
    std::map<job::LaterJob, int> locked{};
    pg::Time next_try = pg::infinity;
    // Jobs after open batches, by the time from which their batch counts as closed.
    std::set<std::pair<pg::Time, job::LaterJob>> open_until{};
};

// Runs its own transactions, for some milliseconds. Returns when to call again; an end of a job
// that others wait for makes ask_for_waits() true earlier.
pg::Time look_at_waits(Waits &waits, const catalog::Catalogue &catalogue);

}  // namespace hipq::flow
