// Table hipq.worker: what outlives the server of the external workers (shmem/workers.hpp has the rest), and who serves what.
#pragma once

#include "pg/spi.hpp"
#include "shmem/workers.hpp"

namespace hipq::storage {

// Sees to it that shared memory knows every worker of this database: after a restart it is filled from the table, with workers
// that have not been heard of yet; those bound to a session have lost it. Cheap when that is done. Needs a transaction.
void recall_workers();

// The same without one where that can be told from shared memory alone.
bool must_recall_workers();

// A worker by its number; nothing if there is none. Needs a transaction.
std::optional<shmem::WorkerSlot> find_worker(std::int64_t id);

// Takes a worker out of the table, and when the transaction commits out of shared memory. False: it is not there.
bool forget_worker(std::int64_t id);

// Which workers serve a job type: they name it and its queue, may work on that queue, and have what the type requires.
class WorkerServices {
public:
    // In no order. Those that are there, and how they do, shmem::choose_worker() knows.
    std::span<const shmem::WorkerRef> serving(int queue_id, std::string_view job_type) const;

    using ByType = std::map<std::string, std::vector<shmem::WorkerRef>, std::less<>>;
    const std::map<int, ByType> &by_queue() const { return ids_; }

private:
    friend std::shared_ptr<const WorkerServices> worker_services();
    std::map<int, ByType> ids_;
};

// Cached in this process until workers, queues or job types change, or rights on a queue. Needs a transaction.
std::shared_ptr<const WorkerServices> worker_services();

// Registers the callback that forgets them; called once by _PG_init. PostgreSQL regime.
void watch_worker_services();

}  // namespace hipq::storage
