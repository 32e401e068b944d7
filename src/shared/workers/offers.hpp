// Jobs that workers are offered: from their dispatch until the worker accepts them.
//
// An offer is an entry of the table of jobs in flight and nothing else. The job's row waits in its
// lane as before, so an offer that comes to nothing, also by a crash, leaves no trace.
#pragma once

#include "core/lanes/lane.hpp"
#include "core/limits/throttle.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::workers {

// A job of this scheduler's prefetched batch, and the worker that was chosen for it.
struct NewOffer {
    std::int64_t id;
    int attempt;  // the number that its next attempt has
    Choice choice;
    pg::Time deadline;        // to accept it
    ItemPointerData place{};  // of its row, as in job::DueJob
};

// Scheduler
// ----------------------------------------------------------------------------------------------

// Offers jobs to their workers, whose counts include them already, and wakes workers that wait.
// Cannot fail.
void offer_jobs(std::span<const NewOffer> offers) noexcept;
// Tells workers that they do not get these jobs. Cannot fail.
void cancel_offers(std::span<const NewOffer> offers) noexcept;

// Takes back the offers of a worker in a queue, or in all queues (0). Returns their number.
std::size_t withdraw_offers(std::int64_t worker_id, int queue_id) noexcept;
// The same for the offer of one job, if it is still one.
void drop_offer(std::int64_t job_id) noexcept;

// The worker accepts
// ----------------------------------------------------------------------------------------------

// An offer that this transaction is about to accept. No other process accepts or withdraws it.
struct TakenOffer {
    std::int64_t id;
    std::uint64_t serial;  // of its entry
    int queue_id;
    ItemPointerData place{};
    std::optional<core::Load> load{};  // as which it is counted under limits; nothing: it is not.
                                       // The type is left out.
    core::Admission admission{};
};

// Takes the earliest offers of a worker: at most `most`, and at most as many as the worker may run
// besides what it runs, without the jobs that this transaction has ended. A rollback, also of a
// savepoint, gives them back.
std::vector<TakenOffer> take_offers(std::int64_t worker_id, std::size_t most);
// Gives them back at once: other sessions hold their rows. They must be in the order in which they
// were taken.
void give_back_offers(std::int64_t worker_id, std::span<const TakenOffer> offers) noexcept;
// Their jobs do not wait any more, or may not start now: they go back into their lanes, and are not
// worth a look before `not_before`.
void end_offers(std::int64_t worker_id, std::span<const TakenOffer> offers,
                pg::Time not_before = pg::Time{core::lane_start.time}) noexcept;

// Any process
// ----------------------------------------------------------------------------------------------

// At commit: the job does not wait any more, so an offer of it ends.
void note_offer_void(std::int64_t job_id);

// Registers the callbacks. _PG_init calls it once; call inside pg::call() only.
void watch_offers();

}  // namespace hipq::workers
