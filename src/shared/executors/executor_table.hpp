// The executors in shared memory: their slots, and what their owners have used and request.
//
// The lock of executors guards the assignment of slots, the requests for executors, and what owners
// and queues have been charged. The lock of the jobs in flight (shared/lanes/in_flight_table.hpp)
// guards what a slot says about its job. Changing `job`, or changing between idle and running,
// needs it exclusively. An executor changes its own `stop_control` while it holds that lock shared;
// other processes change it while they hold the lock exclusively. So a job never takes the lock of
// executors. Freeing a slot takes both locks.
#pragma once

#include "core/limits/fair_share.hpp"
#include "shared/memory/registry.hpp"
#include "shared/memory/tranche.hpp"

namespace hipq::executors {

enum class ExecutorState : unsigned char { free, requested, starting, idle, running, orphaned };

// Deadline and cancellation of the code that an executor runs; see
// shared/executors/stop_control.hpp. Times are those of the real clock.
struct StopControl {
    bool is_on;               // code is running
    bool asks_retry_handler;  // the code is a retry handler or a handler of dead letters
    bool signalled;           // a signal was sent for a cancellation
    bool reported;            // as unresponsive
    bool missed;              // the executor exited past the deadline, with its code running
    bool is_closed;           // as in JobEntry, for a job without an entry
    bool is_cancelled;        // likewise
    std::int64_t job_id;      // the job whose code runs; 0: all jobs of a batch
    pg::Time deadline;
    pg::Time began;
    std::int64_t extended;  // by how many seconds the deadline was extended
    pg::Time requested;     // when cancellation was first requested; infinity: it was not
    pg::Time cancelled;     // when the last signal for it was sent
    pg::Time terminated;    // when SIGTERM was sent; infinity: it was not
};

// The prefetched batch that an executor works on; see shared/executors/executor_shares.hpp.
struct Turn {
    int queue_id;  // 0: none
    std::int64_t weight;
    std::int64_t owner_weight;
    std::int64_t began;    // microseconds of the steady clock
    std::int64_t charged;  // microseconds
};

struct ExecutorSlot {
    ExecutorState state;
    bool asked_to_leave;
    bool woken;  // by a commit, since the executor began its last look
    std::uint32_t generation;
    Oid database;
    Oid role;
    int pid;
    int process;  // PGPROC number, or no_process
    pg::Time state_since;
    pg::Time started;
    std::int64_t jobs_done;
    Turn turn;
    memory::RunningJob job;  // running and orphaned: the job, or the first of a batch; id 0 = none
    StopControl stop_control;
};

// A queue owner whose executors cannot start or failed to start; see
// shared/executors/start_failures.hpp.
inline constexpr int max_start_failures = 64;
struct StartFailure {
    Oid database;  // InvalidOid: free
    Oid role;
    int failures;       // in a row
    bool refused;       // a condition is not met: no start until the scheduler says otherwise
    bool is_read_only;  // executors start, but jobs fail because their transactions begin read-only
    pg::Time not_before;
};

// An owner's share of the executors; see shared/executors/executor_shares.hpp.
inline constexpr int max_owner_shares = 256;
struct OwnerShare {
    Oid database;  // InvalidOid: free
    Oid role;
    core::OwnerAccount account;
    std::int64_t weight;     // total weight of its queues with due jobs
    core::QueueClock clock;  // of its queues
    int missing;             // how many more executors it wants
    pg::Time asked;          // when it last requested them, by the real clock
    pg::Time waits_since;    // infinity: the owner does not wait
};
inline constexpr std::size_t max_queue_shares = 1024;
struct QueueShare {
    Oid database;  // InvalidOid: free
    Oid role;
    int queue_id;
    core::QueueAccount account;
};

struct ExecutorTable {
    bool no_free_slot;  // the last process found no free background worker slot
    StartFailure start_failures[max_start_failures];
    int owner_count;     // entries in use, which are the first ones
    int waiting_owners;  // number of owners with executors missing
    OwnerShare owners[max_owner_shares];
    core::VirtualTime owner_clock;
    core::QueueClock latest_clock;  // the latest of all owners' clocks
    QueueShare queues[max_queue_shares];
    ExecutorSlot slots[FLEXIBLE_ARRAY_MEMBER];  // memory::executor_places() of them
};
static_assert(std::is_trivially_copyable_v<ExecutorSlot>);

class ExecutorLock : public memory::TrancheLock {
public:
    explicit ExecutorLock(LWLockMode mode);
};

// Only if hipq was preloaded.
ExecutorTable &executor_table();

std::span<ExecutorSlot> executor_slots();
int index_of(const ExecutorSlot &slot);

// At server start: request and initialize the memory.
void request_executors();
void set_up_executors();

}  // namespace hipq::executors
