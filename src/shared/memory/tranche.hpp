// Named locks of the shared segment, and the order in which a process may take several of them.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "storage/lwlock.h"
}

namespace hipq::memory {

// Who holds a lock may take those that come after it, never one that comes before it or an equal
// one: so no two processes can wait for each other. A build with assertions checks it. What each of
// them guards is in src/shared/memory/README.md.
enum class LockRank : unsigned char {
    executors,
    in_flight,
    crash_cases,
    workers,
    databases,
    progress,
    lane_table,
    lane,
    waiters,
    decisions,
    run_times,
    statistics,
    alerts
};

// One or more LWLocks with a name, which pg_stat_activity shows as the wait_event of who waits for
// one. A room has it as constinit data; PostgreSQL regime.
class Tranche {
public:
    constexpr Tranche(const char *name, LockRank rank) : name_(name), rank_(rank) {}

    // At server start: asks for the memory.
    void request(int count = 1) const { ::RequestNamedLWLockTranche(name_, count); }
    // Finds the locks; under AddinShmemInitLock.
    void set_up() { locks_ = ::GetNamedLWLockTranche(name_); }

    LWLock *lock(int index) const { return &locks_[index].lock; }
    LockRank rank() const { return rank_; }

private:
    const char *name_;
    LockRank rank_;
    LWLockPadded *locks_ = nullptr;
};

// Holds a lock of a tranche for straight-line code: no allocation, no call that may ereport, no
// throw in between. They end in the opposite order of their beginning.
class TrancheLock {
public:
    TrancheLock(const Tranche &tranche, LWLockMode mode, int index = 0);
    // One that is kept elsewhere, as LWLockInitialize() has made it with the number of the tranche.
    TrancheLock(const Tranche &tranche, LWLock *lock, LWLockMode mode);
    ~TrancheLock();
    TrancheLock(const TrancheLock &) = delete;
    TrancheLock &operator=(const TrancheLock &) = delete;

private:
    LWLock *lock_;
};

}  // namespace hipq::memory
