// Table hipq.worker: what outlives the server of the external workers
// (shared/workers/registered.hpp has the rest), and who serves what.
#pragma once

#include "pg/spi.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::catalog {

// Sees to it that shared memory knows every worker of this database: after a restart it is filled
// from the table, with workers that have not been heard of yet; those bound to a session have lost
// it. Cheap when that is done. Needs a transaction.
void recall_workers();

// The same without one where that can be told from shared memory alone.
bool must_recall_workers();

// A worker by its number; nothing if there is none. Needs a transaction.
std::optional<workers::WorkerSlot> find_worker(std::int64_t id);

// Takes a worker out of the table, and when the transaction commits out of shared memory. False: it
// is not there.
bool forget_worker(std::int64_t id);

// The same for who must not wait for others' locks. False: somebody holds its row, nothing was
// changed.
bool forget_worker_unless_held(std::int64_t id);

// Whether the role of a worker may still work on one of the queues that it serves; asked anew when
// rights, roles, queues or workers have changed. Needs a transaction.
bool has_work(std::int64_t worker_id);

// Which workers serve a job type: they name it and its queue, may work on that queue, and have what
// the type requires.
class WorkerServices {
public:
    // In no order. Those that are there, and how they do, workers::choose_worker() knows.
    std::span<const workers::WorkerRef> serving(int queue_id, std::string_view job_type) const;

    // Whether the worker's role may work on the queue, which the worker has named. A worker that
    // registers just now may.
    bool may_work(std::int64_t worker_id, int queue_id) const;
    // Whether there is a queue that a worker has named and that its role may not work on (any
    // more); or none that it may.
    bool lacks_a_right(std::int64_t worker_id) const;
    bool has_no_work(std::int64_t worker_id) const;

    using ByType = std::map<std::string, std::vector<workers::WorkerRef>, std::less<>>;
    const std::map<int, ByType> &by_queue() const { return ids_; }

private:
    friend std::shared_ptr<const WorkerServices> worker_services();
    void know_rights(std::int64_t worker_id, const std::vector<int> &queues, bool lacks_a_right);
    std::map<int, ByType> ids_;
    std::map<std::int64_t, std::vector<int>>
        lacking_;  // workers that lack a right, with the queues that they may work on
};

// Cached in this process until workers, queues or job types change, or rights on a queue. Needs a
// transaction.
std::shared_ptr<const WorkerServices> worker_services();

// Registers the callback that forgets them; called once by _PG_init. PostgreSQL regime.
void watch_worker_services();

}  // namespace hipq::catalog
