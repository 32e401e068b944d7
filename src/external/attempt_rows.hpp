// The rows of jobs that external workers have: accepted, held to end an attempt or to give it more
// time.
#pragma once

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"
#include "pg/spi.hpp"
#include "shared/workers/offers.hpp"

namespace hipq::external {

// Attempts of one queue, and where the row of each may be, as in job::DueJob.
struct Attempts {
    std::vector<std::int64_t> ids{};
    std::vector<std::int64_t> numbers{};
    std::vector<ItemPointerData> places{};

    void add(std::int64_t id, std::int64_t number, ItemPointerData place);
    std::size_t count() const { return ids.size(); }
};

// What became of the offers of one queue that a worker was to accept.
struct Acceptance {
    std::vector<job::ClaimedJob> accepted{};   // in their order
    std::vector<workers::TakenOffer> held{};   // another session holds the row, or a trigger
                                               // suppresses the change
    std::vector<workers::TakenOffer> ended{};  // the job does not wait any more, or may not start
    std::vector<std::pair<workers::TakenOffer, pg::Error>> refused{};  // an error, by itself
};

// The worker accepts jobs that it was offered: initial|retry -> running, attempt + 1, durable with
// the caller's commit. Raises 40001 if the slot of a job leaves this node meanwhile.
Acceptance accept_rows(const catalog::Queue &queue, std::int64_t worker_id,
                       std::span<const workers::TakenOffer> offers, pg::Time now);

// Logs that an error keeps a job from being offered or accepted.
void report_refused(const catalog::Queue &queue, std::int64_t id, const pg::Error &error);

// Locks a running attempt that a worker has, or that hipq.complete_later() left running, to end it
// or to give it more time. Waits for the process that holds its row. Nothing: the job is no longer
// running, is another attempt, or an executor has it.
std::optional<job::ClaimedJob> hold_row(const catalog::Queue &queue, std::int64_t id, int attempt);
// Locks several attempts in the same way, and returns the locked ones in their order. The caller
// must pass them in the order of ids, because callers wait for each other's rows. For
// finish_succeeded(), deletes rows that no other session has locked, instead of locking them.
enum class Hold : unsigned char { to_change, to_succeed };
std::vector<job::ClaimedJob> hold_rows(const catalog::Queue &queue, const Attempts &attempts,
                                       Hold hold);
// The same for the running attempt of the job with that key. `shard_key` selects among jobs whose
// keys are unique per shard key only; without it there must be only one job with the key.
std::optional<job::ClaimedJob> hold_row(const catalog::Queue &queue, std::string_view job_type,
                                        std::string_view job_key,
                                        const std::optional<std::string> &shard_key);

// Gives a locked attempt time until `deadline`.
void set_deadline(const catalog::Queue &queue, const job::ClaimedJob &job, pg::Time deadline,
                  pg::Time now);

}  // namespace hipq::external
