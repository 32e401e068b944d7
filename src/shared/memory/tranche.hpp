// Named locks of the shared segment, and the order in which a process may take several of them.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "storage/lwlock.h"
}

namespace hipq::memory {

// A process that holds a lock may take only locks of a higher rank, so no two processes can
// deadlock. Builds with assertions check this. src/shared/memory/README.md lists what each lock
// guards.
enum class LockRank : unsigned char {
    executors,
    in_flight,
    crash_cases,
    workers,
    databases,
    progress,
    lane_table,
    lane,
    parked_keys,
    waiters,
    watched,
    decisions,
    run_times,
    statistics,
    alerts
};

// One or more LWLocks of one name, which pg_stat_activity shows as wait_event. Each is constinit
// data of its folder. Call its functions inside pg::call() or in a C frame only.
class Tranche {
public:
    constexpr Tranche(const char *name, LockRank rank) : name_(name), rank_(rank) {}

    // At server start: requests the memory.
    void request(int count = 1) const { ::RequestNamedLWLockTranche(name_, count); }
    // Finds the locks; call under AddinShmemInitLock.
    void set_up() { locks_ = ::GetNamedLWLockTranche(name_); }

    LWLock *lock(int index) const { return &locks_[index].lock; }
    LockRank rank() const { return rank_; }

private:
    const char *name_;
    LockRank rank_;
    LWLockPadded *locks_ = nullptr;
};

// Holds a lock of a tranche for straight-line code: no allocation, no call that may ereport, no
// throw in between. Locks are released in the reverse order of their acquisition.
class TrancheLock {
public:
    TrancheLock(const Tranche &tranche, LWLockMode mode, int index = 0);
    // For a lock that is stored elsewhere and was initialized by LWLockInitialize() with this
    // tranche's id.
    TrancheLock(const Tranche &tranche, LWLock *lock, LWLockMode mode);
    ~TrancheLock();
    TrancheLock(const TrancheLock &) = delete;
    TrancheLock &operator=(const TrancheLock &) = delete;

private:
    LWLock *lock_;
};

}  // namespace hipq::memory
