// Rows of hipq.batch and the tables beside it: which batches there are, which queues have jobs of
// them, and which of their jobs did not succeed.
//
// Nothing counts down. A batch is complete when it is closed and none of its jobs is unfinished,
// which the rows of the jobs say. A job that succeeds writes nothing.
#pragma once

#include "catalog/cache.hpp"
#include "catalog/rights.hpp"

namespace hipq::job {

// In hipq.dependency, a batch that a job comes after has this number in the place of a queue.
inline constexpr int queue_of_batches = 0;

struct Batch {
    std::int64_t id;
    int queue_id;                         // whose rights and retention it has
    std::optional<pg::Time> closed_time;  // nothing: it has not been closed
    pg::Time expires_time;                // counts as closed from then on

    bool is_open(pg::Time now) const { return !closed_time.has_value() && now < expires_time; }
};

// All functions act as the extension owner; rights are the caller's business.

// Makes a batch and returns its id. The current transaction may put jobs into it, closed or not.
std::int64_t insert_batch(const catalog::Queue &queue, const std::optional<std::string> &name,
                          bool is_closed, pg::Time expires_time);

// Reads that of a batch, as committed now; nothing: there is none.
std::optional<Batch> find_batch(std::int64_t id);

// The batch, for a caller with that right on its queue. Raises 42704 for one that does not exist or
// that the caller may not know of.
Batch require_batch(const catalog::Catalogue &catalogue, std::int64_t id,
                    catalog::Privilege privilege);

// Closes a batch, and reports it after the commit: it may be complete. False: it is closed already.
bool close_batch(std::int64_t id);

// The queues that have, or have had, jobs of the batch, but those that are dropped. With jobs that
// this transaction has added.
std::vector<const catalog::Queue *> queues_of_batch(const catalog::Catalogue &catalogue,
                                                    std::int64_t id);

// The unfinished jobs of a batch in one of its queues, in order of their ids.
std::vector<std::int64_t> unfinished_jobs_of(const catalog::Queue &queue, std::int64_t id);

// The batches that unfinished jobs of a queue belong to, of these jobs.
std::vector<std::int64_t> batches_of(const catalog::Queue &queue,
                                     const std::vector<std::int64_t> &job_ids);

// What jobs after the batch must know of it.
struct BatchState {
    std::optional<pg::Time> open_until{};      // its expires_time, if it is open
    bool is_joined = false;                    // another transaction adds jobs to it
    std::optional<std::int64_t> unfinished{};  // the job with the highest id
    std::optional<std::int64_t> failed{};      // the job with the lowest id; so the next
    std::optional<std::int64_t> skipped{};

    bool is_complete() const
    {
        return !open_until.has_value() && !is_joined && !unfinished.has_value();
    }
};

// Reads that, as committed now; nothing: there is no such batch. A batch that is complete stays so:
// no transaction can add jobs to a batch that is closed and of which no job runs.
std::optional<BatchState> state_of_batch(const catalog::Catalogue &catalogue, std::int64_t id);

// Notes a job of a batch that has ended without success.
void note_batch_failure(std::int64_t batch_id, std::int64_t job_id, std::string_view outcome);

// For a job that another one replaces, in the same queue.
void forget_batch_failure(std::int64_t batch_id, std::int64_t job_id);

// For a queue that is dropped, with or without its tables: its unfinished jobs count as cancelled
// in their batches.
void fail_members(const catalog::Queue &queue);

// For jobs that move to another queue, in the transaction that moves them.
void move_members(const catalog::Queue &to, const std::vector<std::int64_t> &job_ids);

// Deletes batches of a queue that were closed before that time, are complete, and after which no
// jobs come that are kept; at most `most`, and returns how many.
std::int64_t prune_batches(const catalog::Catalogue &catalogue, const catalog::Queue &queue,
                           pg::Time closed_before, std::int64_t most);

}  // namespace hipq::job
