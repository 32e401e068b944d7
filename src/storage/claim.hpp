// Who is next, and taking the job: initial|retry -> running.
#pragma once

#include "core/lane.hpp"
#include "core/state.hpp"
#include "storage/catalogue.hpp"
#include "storage/start_windows.hpp"

namespace hipq::storage {

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

// The heads of the lanes of a queue, due or not, in the order of job types and priorities; jobs that have expired are passed
// over. Needs a transaction.
std::vector<LaneHead> lane_heads(const Queue &queue, pg::Time now);
// The same of at most so many lanes behind one of them, which becomes the last of these, or after the last of all anew the first.
std::vector<LaneHead> lane_heads(const Queue &queue, pg::Time now, LanePlace &after, int most);

// When the first waiting jobs of a lane are due from a key on, at most `limit`, in order; those that have expired are passed
// over. Needs a transaction.
std::vector<pg::Time> first_due_times(const Queue &queue, std::string_view job_type, int priority, core::LaneKey from,
                                      pg::Time now, int limit);

// Lower number first, then the earlier time, then the lower id.
bool runs_before(const LaneHead &left, const LaneHead &right);

// A job in line. Where its row stood when somebody saw it spares the search for it; it may have moved since.
struct DueJob {
    std::int64_t id;
    ItemPointerData place{};  // not valid: unknown
    pg::Time due{0};          // its scheduled_run_time; not needed for a claim
    bool is_weighed = false;  // so that these are known:
    core::Weight weight = 0;
    std::uint64_t key = 0;  // throttle_key_hash()
};

struct RowValues;  // job_row.hpp

// A job in the hands of whoever claimed it. `values` and `data` live in the memory context that was current at the claim.
struct ClaimedJob {
    int queue_id;
    std::int64_t id;
    int attempt;
    std::string type;
    std::string key;
    int timeout;  // seconds
    int retry_count;
    int max_retries;
    pg::Time started;          // when it was accepted; by nobody yet: when it was given to its worker
    Oid row_type;              // hipq.job
    const RowValues *values;   // its row, as it is now
    pg::RawValue data;         // job_data
    std::string error;         // of the last failure; "NONE" while it runs
    std::string retry_reason;  // the reason of that failure, or why it was enqueued again
    ItemPointerData place{};   // of its row; not valid: unknown
    bool is_locked = false;    // claimed by a row lock alone: the row still stands as it waited, with the attempt before
    std::optional<std::int64_t> worker_id{};  // the external worker that has it; waiting: that had it last

    int stored_attempt() const { return is_locked ? attempt - 1 : attempt; }
};

// The columns by which statements return a claimed job from a row named "job", and the reading of them.
#define HIPQ_CLAIMED_COLUMNS                                                                                                     \
    "job.queue_id, job.id, job.attempt, job.job_type, job.job_key, job.timeout, job.retry_count, job.max_retries, "              \
    "job.accepted_time, "                                                                                                        \
    "job::hipq.job, job.job_data, job.error, job.retry_reason"
ClaimedJob claimed_job(const pg::Row &row);
std::optional<ClaimedJob> first_claimed_job(const pg::Rows &rows);
std::vector<ClaimedJob> claimed_jobs_in_order(const std::vector<std::int64_t> &ids, const pg::Rows &rows);

// Its row as a value of type hipq.job, formed in the current memory context.
pg::RawValue row_of(const ClaimedJob &job);

// The first due jobs of a lane that are within their time windows and whose throttle keys are not paused, at most `limit`, in
// order; whether somebody has them in hand is not asked. Needs a transaction.
std::vector<DueJob> due_jobs(const Queue &queue, const LaneHead &lane, pg::Time now, std::size_t limit, StartWindows &windows,
                             const std::vector<std::string> &paused_keys);

// Takes those of the jobs that are still due and that nobody else holds, in their order; the others are left out. Both
// need a transaction.
//
// record: state running, attempt + 1, deadline are written, and durable when the transaction commits.
std::vector<ClaimedJob> claim_by_record(const Queue &queue, std::span<const DueJob> waiting, pg::Time now);
// lock: the rows are locked until the transaction ends; what is returned looks as if it had been recorded.
std::vector<ClaimedJob> claim_by_lock(const Queue &queue, std::span<const DueJob> waiting, pg::Time now);

// A job as its next attempt would find it, due or not, for one that is rolled back: a waiting job is locked, a final one stays as
// it is. Nothing: it is neither, or somebody holds it. Needs a transaction.
std::optional<ClaimedJob> claim_for_trial(const Queue &queue, std::int64_t id, pg::Time now);

// Writes for a job that was claimed by lock, in a transaction that is over, what a recorded claim would have written; then it is
// one. False: it is not as it was; somebody else has changed it meanwhile.
bool record_locked(const Queue &queue, ClaimedJob &job);

// Locks a running attempt whose executor is gone, skipping one that somebody else holds. Needs a transaction.
std::optional<ClaimedJob> take_running(const Queue &queue, std::int64_t id, int attempt);

// The same for an attempt that was claimed by lock, whose row tells nothing of it: it is recorded now.
std::optional<ClaimedJob> take_locked(const Queue &queue, std::int64_t id, int attempt, pg::Time started);

// Locks the running attempt that an external worker has, skipping one that somebody else holds. Needs a transaction.
std::optional<ClaimedJob> take_from_worker(const Queue &queue, std::int64_t id);

// Locks a job in state `error` for its retry decision, skipping one that somebody else holds. Needs a transaction.
std::optional<ClaimedJob> take_for_decision(const Queue &queue, std::int64_t id);

}  // namespace hipq::storage
