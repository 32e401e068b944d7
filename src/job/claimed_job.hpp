// A waiting job and a claimed job, as values.
#pragma once

#include "core/job/state.hpp"
#include "core/lanes/lane.hpp"
#include "core/limits/limiter_name.hpp"
#include "pg/clock.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hipq::job {

// A waiting job. `place` is where its row was when it was read; it saves a search, but the row may
// have moved since.
struct DueJob {
    std::int64_t id;
    ItemPointerData place{};  // not valid: unknown
    pg::Time due{0};          // its scheduled_run_time; not needed for a claim
    bool is_weighed = false;  // the following two are then known
    core::Weight weight = 0;
    std::uint64_t key = 0;  // throttle_key_hash()
    core::NextAttempt next{};
};

struct RowValues;  // job_row.hpp

// A job held by the process that claimed it. `values` and `data` live in the memory context that
// was current at the claim.
struct ClaimedJob {
    int queue_id;
    std::int64_t id;
    int attempt;
    std::string type;
    std::string key;
    int timeout;  // seconds
    int retry_count;
    int max_retries;
    pg::Time started;          // when it was accepted; if it was not, when the offer ran out
    Oid row_type;              // hipq.job
    const RowValues *values;   // its present row
    pg::RawValue data;         // job_data
    std::string error;         // error of the last failure; "NONE" while it runs
    std::string retry_reason;  // reason of that failure, or why it was enqueued again
    ItemPointerData place{};   // place of its row; not valid: unknown
    // Claimed by a row lock only: the row is still that of a waiting job, with the previous
    // attempt.
    bool is_locked = false;
    // This transaction has deleted the row already.
    bool is_removed = false;
    // A breaker of its type admitted it, and counts the end of the attempt.
    bool has_breaker = false;
    // The external worker that has it; for a waiting job, the one that had it last.
    std::optional<std::int64_t> worker_id{};

    int stored_attempt() const { return is_locked ? attempt - 1 : attempt; }
};

// The job of a row of a statement, whose first column is the job's row as a hipq.job. NULL in a
// column counts as nothing (RowValues), so that a job whose row is damaged can be ended.
ClaimedJob claimed_job(const pg::Row &row);
std::optional<ClaimedJob> first_claimed_job(const pg::Rows &rows);
std::vector<ClaimedJob> claimed_jobs_in_order(const std::vector<std::int64_t> &ids,
                                              const pg::Rows &rows);

// The same from a row at a place. The job keeps `values`.
ClaimedJob job_of(const RowValues &values, Oid row_type, ItemPointerData place);

// The row as a value of type hipq.job, formed in the current memory context.
pg::RawValue row_of(const ClaimedJob &job);

// The trace that the job belongs to; nothing: none.
std::optional<std::string> traceparent_of(const ClaimedJob &job);

// The batch that it belongs to; nothing: none.
std::optional<std::int64_t> batch_of(const ClaimedJob &job);

// The time for which its schedule planned it; nothing: it is not of a schedule.
std::optional<pg::Time> schedule_time_of(const ClaimedJob &job);

// Whether the external worker that has the job has accepted it, and until when the worker may keep
// it.
bool is_accepted(const ClaimedJob &job);
pg::Time deadline_of(const ClaimedJob &job);

}  // namespace hipq::job
