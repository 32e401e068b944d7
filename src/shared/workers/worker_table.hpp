// The table of workers in shared memory, for the sources behind registered.hpp: a hash table by
// database and number under one lock.
//
// Whoever takes the lock holds it for straight-line code only.
#pragma once

#include "core/statistics/rate_limit.hpp"
#include "shared/memory/tranche.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::workers {

// Databases of which all workers are known. One more than fit is read again and again, which costs
// a statement each time.
inline constexpr std::size_t max_recalled = 256;

// A job type whose jobs no worker can be given.
struct UnservedType {
    Oid database;  // InvalidOid: the place is free
    int queue_id;
    std::uint64_t job_type;
    pg::Time since;
    TimestampTz seen;  // by the server's clock
};
inline constexpr std::size_t max_unserved_types = 1024;

// How often the workers of a role have registered lately.
struct RoleRate {
    Oid role;  // InvalidOid: the place is free
    core::RateState state;
};
inline constexpr std::size_t max_role_rates = 256;

struct WorkerTable {
    std::int32_t capacity;  // worker_places()
    std::int32_t most;      // that may be registered at a time
    std::int32_t used;      // places that were ever in use: the first ones
    std::uint64_t choices;  // so far
    std::uint64_t changes;  // workers that came or went for good
    Oid recalled[max_recalled];
    UnservedType unserved[max_unserved_types];
    RoleRate rates[max_role_rates];
    WorkerSlot slots[FLEXIBLE_ARRAY_MEMBER];  // then the buckets, as many
};

class WorkerLock : public memory::TrancheLock {
public:
    explicit WorkerLock(LWLockMode mode);
};

// Before there is shared memory there is none: is_loaded(). What follows needs the lock.
WorkerTable &worker_table();

// Those that were ever in use, free ones among them.
std::span<WorkerSlot> worker_slots();

// Null: there is none, in any state.
WorkerSlot *find_slot(Oid database, std::int64_t id);
WorkerSlot *find_slot(const WorkerRef &worker);

// Whether it is there, or this transaction registers it.
bool is_visible(const WorkerSlot &slot);

// A worker that is there, to change what is known of it. Null if it is not.
WorkerSlot *find_present(std::int64_t id);

// What workers there are of a role, and of all.
struct WorkerCounts {
    std::int64_t registered;      // or about to be, but for those that succeed others
    std::int64_t places;          // with those that have departed
    std::int64_t own_registered;  // of the role
    std::int64_t own_places;
};
WorkerCounts count_workers(Oid role);

// A place for a worker of this database. Null: all are taken.
WorkerSlot *add_worker(const NewWorker &worker, WorkerState state, pg::Time now);

// Its session is over; its jobs are still to be taken from it.
void end_worker(WorkerSlot &slot, pg::Time now);

void free_place(WorkerSlot &slot);

// How many places were ever in use. Takes its own lock.
std::size_t places_in_use();

// Of a database that is gone. Takes its own lock (recall.cpp).
void forget_workers(Oid database) noexcept;

}  // namespace hipq::workers
