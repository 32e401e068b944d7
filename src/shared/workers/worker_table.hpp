// The table of workers in shared memory, for the sources behind registered.hpp: a hash table by
// database and number under one lock.
//
// The lock is held for straight-line code only.
#pragma once

#include "core/statistics/rate_limit.hpp"
#include "shared/memory/tranche.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::workers {

// Databases of which all workers are known. If there are more, their workers are read again and
// again, which costs a statement each time.
inline constexpr std::size_t max_databases_read = 256;

// A job type whose jobs no worker can get.
struct UnservedType {
    Oid database;  // InvalidOid: the place is free
    int queue_id;
    std::uint64_t job_type;
    pg::Time since;
    TimestampTz seen;  // by the server's clock
};
inline constexpr std::size_t max_unserved_types = 1024;

// How often workers of a role have registered lately.
struct RoleRate {
    Oid role;  // InvalidOid: the place is free
    core::RateState state;
};
inline constexpr std::size_t max_role_rates = 256;

struct WorkerTable {
    std::int32_t capacity;  // worker_places()
    std::int32_t most;      // maximum of registered workers
    std::int32_t used;      // places that were ever in use, which are the first ones
    std::uint64_t choices;  // number of choices so far
    std::uint64_t changes;  // how often workers came or went for good
    Oid databases_read[max_databases_read];
    UnservedType unserved[max_unserved_types];
    RoleRate rates[max_role_rates];
    WorkerSlot slots[FLEXIBLE_ARRAY_MEMBER];  // an equal number of buckets follows
};

class WorkerLock : public memory::TrancheLock {
public:
    explicit WorkerLock(LWLockMode mode);
};

// Use only if there is shared memory: is_loaded(). The functions below need the lock.
WorkerTable &worker_table();

// The slots that were ever in use, including free ones.
std::span<WorkerSlot> worker_slots();

// Returns null if there is no such worker, in any state.
WorkerSlot *find_slot(Oid database, std::int64_t id);
WorkerSlot *find_slot(const WorkerRef &worker);

// Whether the worker is there, or this transaction registers it.
bool is_visible(const WorkerSlot &slot);

// Returns a worker that is there, to change its state, or null.
WorkerSlot *find_present(std::int64_t id);

// Counts of workers, of a role and of all roles.
struct WorkerCounts {
    std::int64_t registered;      // or about to be; without those that succeed others
    std::int64_t places;          // including workers that have departed
    std::int64_t own_registered;  // of the role
    std::int64_t own_places;
};
WorkerCounts count_workers(Oid role);

// Adds a worker of this database. Returns null if all places are taken.
WorkerSlot *add_worker(const NewWorker &worker, WorkerState state, pg::Time now);

// The worker's session has ended; its jobs remain to be reclaimed.
void end_worker(WorkerSlot &slot, pg::Time now);

void free_place(WorkerSlot &slot);

// How many places were ever in use. Takes the lock itself.
std::size_t places_in_use();

// Forgets the workers of a database that was dropped. Takes the lock itself (read_back.cpp).
void forget_workers(Oid database) noexcept;

}  // namespace hipq::workers
