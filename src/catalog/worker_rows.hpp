// Table hipq.worker: what remains of external workers after a restart of the server
// (shared/workers/registered.hpp has the rest), and which workers serve which job types.
#pragma once

#include "pg/spi.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::catalog {

// Loads every worker of this database into shared memory, unless that is done, which is cheap to
// check. After a restart, shared memory is filled from the table: the workers have not been heard
// of yet, and workers that were bound to a session have lost it. Needs a transaction.
void read_workers();

// Whether read_workers() has anything to do. Looks at shared memory alone, so it needs no
// transaction.
bool must_read_workers();

// Returns the worker with this number, or nothing. Needs a transaction.
std::optional<workers::WorkerSlot> find_worker(std::int64_t id);

// Deletes a worker from the table and, when the transaction commits, from shared memory. Returns
// false if it is not there.
bool forget_worker(std::int64_t id);

// The same for callers that must not wait for locks. Returns false, and changes nothing, if another
// transaction has the row locked.
[[nodiscard]] bool forget_worker_unless_held(std::int64_t id);

// Whether the role of a worker may still work on one of the queues that it serves. Checked again
// after rights, roles, queues or workers have changed. Needs a transaction.
bool has_work(std::int64_t worker_id);

// Which workers serve a job type. A worker does if it names the type and its queue, may work on
// that queue, and has the capabilities that the type requires.
class WorkerServices {
public:
    // In no particular order. workers::choose_worker() knows which of them are connected and how
    // they are doing.
    std::span<const workers::WorkerRef> serving(int queue_id, std::string_view job_type) const;

    // Whether the worker's role may work on the queue, which the worker has named. Returns true for
    // a worker that is just registering.
    bool may_work(std::int64_t worker_id, int queue_id) const;
    // Whether the worker's role may not work (any more) on some queue that the worker has named; or
    // on any of them.
    bool lacks_a_right(std::int64_t worker_id) const;
    bool has_no_work(std::int64_t worker_id) const;

    using ByType = std::map<std::string, std::vector<workers::WorkerRef>, std::less<>>;
    const std::map<int, ByType> &by_queue() const { return ids_; }

private:
    friend std::shared_ptr<const WorkerServices> worker_services();
    void know_rights(std::int64_t worker_id, const std::vector<int> &queues, bool lacks_a_right);
    std::map<int, ByType> ids_;
    // Workers that lack a right, each with the queues that it may work on.
    std::map<std::int64_t, std::vector<int>> lacking_;
};

// Cached in this process until workers, queues, job types or rights on a queue change. Needs a
// transaction.
std::shared_ptr<const WorkerServices> worker_services();

// Registers the callbacks that invalidate this cache. _PG_init calls it once; raises ERROR by
// longjmp.
void watch_worker_services();

}  // namespace hipq::catalog
