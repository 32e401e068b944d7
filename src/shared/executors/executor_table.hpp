// The executors in shared memory: their slots, and what their owners have used and ask for.
//
// The lock of executors guards who has a slot, who asks for one and what it has been charged. The
// lock of the jobs in flight (shared/lanes/in_flight_table.hpp) guards what a slot says of its job:
// `job` and the change between idle and running need it exclusively; `stop_control` is changed by
// its executor while that holds it shared, and by others while they hold it exclusively. So a job
// takes none of the first lock. A slot is freed under both.
#pragma once

#include "core/limits/fair_share.hpp"
#include "shared/memory/registry.hpp"
#include "shared/memory/tranche.hpp"

namespace hipq::executors {

enum class ExecutorState : unsigned char { free, requested, starting, idle, running, orphaned };

// What the code that an executor runs may be stopped by; shared/executors/stop_control.hpp. Times
// are those of the real clock.
struct StopControl {
    bool is_on;               // code runs
    bool asks_retry_handler;  // that of a retry handler, or of a handler of dead letters
    bool signalled;           // for a cancellation
    bool reported;            // as unresponsive
    bool missed;              // the executor has ended past the deadline, with its code
    bool is_closed;           // as in JobEntry, for a job without one
    bool is_cancelled;        // the same
    std::int64_t job_id;      // whose code it is; 0: of all jobs of a batch
    pg::Time deadline;
    pg::Time began;
    std::int64_t extended;  // by so many seconds
    pg::Time requested;     // when its cancellation was asked for first; infinity: it was not
    pg::Time cancelled;     // when the last signal for that was sent
    pg::Time terminated;    // when SIGTERM was sent; infinity: it was not
};

// The hand that an executor works on; shared/executors/executor_shares.hpp.
struct Turn {
    int queue_id;  // 0: none
    std::int64_t weight;
    std::int64_t owner_weight;
    std::int64_t began;    // microseconds of a clock that nobody sets
    std::int64_t charged;  // microseconds
};

struct ExecutorSlot {
    ExecutorState state;
    bool asked_to_leave;
    bool woken;  // by a commit, since it began its last look
    std::uint32_t generation;
    Oid database;
    Oid role;
    int pid;
    int process;  // PGPROC number, or no_process
    pg::Time state_since;
    pg::Time started;
    std::int64_t jobs_done;
    Turn turn;
    memory::RunningJob job;  // running and orphaned: the job, the first of a batch; id 0 = none
    StopControl stop_control;
};

// A queue owner whose executors cannot start, or failed to; shared/executors/start_failures.hpp.
inline constexpr int max_start_failures = 64;
struct StartFailure {
    Oid database;  // InvalidOid: free
    Oid role;
    int failures;       // in a row
    bool refused;       // by a condition: not before the scheduler says otherwise
    bool is_read_only;  // they start, and jobs fail as their transactions begin read-only
    pg::Time not_before;
};

// Of the executors; shared/executors/executor_shares.hpp.
inline constexpr int max_owner_shares = 256;
struct OwnerShare {
    Oid database;  // InvalidOid: free
    Oid role;
    core::OwnerAccount account;
    std::int64_t weight;     // of its queues with due jobs together
    core::QueueClock clock;  // of its queues
    int missing;             // executors that it would have more
    pg::Time asked;          // for them, the last time; by the real clock
    pg::Time waits_since;    // infinity: it does not
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
    int owner_count;     // places in use: the first ones
    int waiting_owners;  // with executors missing
    OwnerShare owners[max_owner_shares];
    core::VirtualTime owner_clock;
    core::QueueClock latest_clock;  // the latest of all owners
    QueueShare queues[max_queue_shares];
    ExecutorSlot slots[FLEXIBLE_ARRAY_MEMBER];  // memory::executor_places() of them
};
static_assert(std::is_trivially_copyable_v<ExecutorSlot>);

class ExecutorLock : public memory::TrancheLock {
public:
    explicit ExecutorLock(LWLockMode mode);
};

// Only when loaded.
ExecutorTable &executor_table();

std::span<ExecutorSlot> executor_slots();
int index_of(const ExecutorSlot &slot);

// At server start: asks for the memory, and fills it.
void request_executors();
void set_up_executors();

}  // namespace hipq::executors
