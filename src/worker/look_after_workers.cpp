// Runs a statement only when there is a worker to be forgotten, and once after a restart.
#include "look_after_workers.hpp"

#include "pg/transaction.hpp"
#include "settings.hpp"
#include "storage/workers.hpp"

namespace hipq::worker {

namespace {

// A program that is down for a while keeps its registration.
constexpr std::int64_t longest_silence = 24 * 3'600'000'000LL;

// When a worker without jobs in hand is to be forgotten; infinity: not by itself.
pg::Time end_of(const shmem::WorkerSlot &slot)
{
    if (slot.record.depth > 0 || slot.running > 0)
        return pg::infinity;
    if (slot.state == shmem::WorkerState::ended)
        return slot.ended + std::int64_t{settings::worker_grace} * 1'000;
    return slot.record.is_bound ? pg::infinity : pg::Time{slot.record.last_sign} + longest_silence;
}

}  // namespace

void recall_workers()
{
    if (storage::must_recall_workers())
        pg::with_transaction([] { storage::recall_workers(); });
}

pg::Time forget_workers(pg::Time now)
{
    pg::Time next = pg::infinity;
    if (!shmem::has_workers_here())
        return next;
    for (const shmem::WorkerSlot &slot : shmem::list_workers()) {
        const pg::Time end = end_of(slot);
        if (end <= now)
            pg::with_transaction([&] { storage::forget_worker(slot.id); });
        else
            next = std::min(next, end);
    }
    return next;
}

}  // namespace hipq::worker
