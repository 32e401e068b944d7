// A job that waits, and one that somebody has claimed, as values.
#pragma once

#include "catalog/catalog.hpp"
#include "core/job/state.hpp"
#include "core/lanes/lane.hpp"

namespace hipq::job {

// A job waiting. Where its row stood when somebody saw it spares the search for it; it may have
// moved since.
struct DueJob {
    std::int64_t id;
    ItemPointerData place{};  // not valid: unknown
    pg::Time due{0};          // its scheduled_run_time; not needed for a claim
    bool is_weighed = false;  // so that these are known:
    core::Weight weight = 0;
    std::uint64_t key = 0;  // throttle_key_hash()
};

struct RowValues;  // job_row.hpp

// A job held by whoever claimed it. `values` and `data` live in the memory context that was
// current at the claim.
struct ClaimedJob {
    int queue_id;
    std::int64_t id;
    int attempt;
    std::string type;
    std::string key;
    int timeout;  // seconds
    int retry_count;
    int max_retries;
    pg::Time started;  // when it was accepted; by nobody yet: when it was given to its worker
    Oid row_type;      // hipq.job
    const RowValues *values;   // its row, as it is now
    pg::RawValue data;         // job_data
    std::string error;         // of the last failure; "NONE" while it runs
    std::string retry_reason;  // the reason of that failure, or why it was enqueued again
    ItemPointerData place{};   // of its row; not valid: unknown
    bool is_locked = false;  // claimed by a row lock alone: the row still stands as it waited, with
                             // the attempt before
    std::optional<std::int64_t>
        worker_id{};  // the external worker that has it; waiting: that had it last

    int stored_attempt() const { return is_locked ? attempt - 1 : attempt; }
};

// The columns by which statements return a claimed job from a row named "job", and the reading of
// them.
#define HIPQ_CLAIMED_COLUMNS                                                                       \
    "job.queue_id, job.id, job.attempt, job.job_type, job.job_key, job.timeout, job.retry_count, " \
    "job.max_retries, "                                                                            \
    "job.accepted_time, "                                                                          \
    "job::hipq.job, job.job_data, job.error, job.retry_reason"
ClaimedJob claimed_job(const pg::Row &row);
std::optional<ClaimedJob> first_claimed_job(const pg::Rows &rows);
std::vector<ClaimedJob> claimed_jobs_in_order(const std::vector<std::int64_t> &ids,
                                              const pg::Rows &rows);

// Its row as a value of type hipq.job, formed in the current memory context.
pg::RawValue row_of(const ClaimedJob &job);

// The trace that it belongs to; nothing: none.
std::optional<std::string> traceparent_of(const ClaimedJob &job);

// Whether the external worker that has it has accepted it, and until when it may keep it.
bool is_accepted(const ClaimedJob &job);
pg::Time deadline_of(const ClaimedJob &job);

}  // namespace hipq::job
