// Who is next, and taking the job: initial|retry -> running.
#pragma once

#include "claim/start_windows.hpp"
#include "job/job.hpp"

namespace hipq::claim {

// The first waiting job of a lane (queue, job type, priority).
struct LaneHead {
    std::string job_type;
    int priority;
    pg::Time due;  // its scheduled_run_time
    std::int64_t id;
};

// A lane in the order of job types and priorities; as it is made: before the first.
struct LanePlace {
    std::string job_type;
    int priority = std::numeric_limits<std::int16_t>::min();
    bool operator==(const LanePlace &) const = default;
};

// The heads of the lanes of a queue, due or not, in the order of job types and priorities; jobs
// that have expired are passed over. Needs a transaction.
std::vector<LaneHead> lane_heads(const catalog::Queue &queue, pg::Time now);
// The same of at most so many lanes behind one of them, which becomes the last of these, or after
// the last of all anew the first.
std::vector<LaneHead> lane_heads(const catalog::Queue &queue, pg::Time now, LanePlace &after,
                                 int most);

// When the first waiting jobs of a lane are due from a key on, at most `limit`, in order; those
// that have expired are passed over. Needs a transaction.
std::vector<pg::Time> first_due_times(const catalog::Queue &queue, std::string_view job_type,
                                      int priority, core::LaneKey from, pg::Time now, int limit);

// Lower number first, then the earlier time, then the lower id.
bool runs_before(const LaneHead &left, const LaneHead &right);

// The first due jobs of a lane that are within their time windows and whose throttle keys are not
// paused, at most `limit`, in order; whether somebody has them in flight is not asked. Needs a
// transaction.
std::vector<job::DueJob> due_jobs(const catalog::Queue &queue, const LaneHead &lane, pg::Time now,
                                  std::size_t limit, StartWindows &windows,
                                  const std::vector<std::string> &paused_keys);

// Takes those of the jobs that are still due and that nobody else holds, in their order; the others
// are left out. Both need a transaction.
//
// record: state running, attempt + 1, deadline are written, and durable when the transaction
// commits.
std::vector<job::ClaimedJob> claim_by_record(const catalog::Queue &queue,
                                             std::span<const job::DueJob> waiting, pg::Time now);
// lock: the rows are locked until the transaction ends; what is returned looks as if it had been
// recorded.
std::vector<job::ClaimedJob> claim_by_lock(const catalog::Queue &queue,
                                           std::span<const job::DueJob> waiting, pg::Time now);

// Whether one of them, which are claimed, is of a slot that has left this node in strict order
// since the catalogue of `queue` was read: older ones may be on their way already, and none is to
// start. Who sends them locks their rows after the slot has left; so whoever has passed over a
// locked row, and asks after he has claimed, is told.
bool have_left(const catalog::Queue &queue, std::span<const job::ClaimedJob> jobs);

// A job as its next attempt would find it, due or not, for one that is rolled back: a waiting job
// is locked, a final one stays as it is. Nothing: it is neither, or somebody holds it. Needs a
// transaction.
std::optional<job::ClaimedJob> claim_for_trial(const catalog::Queue &queue, std::int64_t id,
                                               pg::Time now);

}  // namespace hipq::claim
