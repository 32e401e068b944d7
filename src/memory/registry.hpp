// Shared memory: which databases need a scheduler, which executors there are and what each of them
// runs.
//
// One lock guards it all; it is held for straight-line code only. Plain data, no pointers into a
// process. Processes are found by slot and generation and woken through the latch of the PGPROC
// their slot names: a stale one costs a superfluous wake-up, nothing else.
#pragma once

#include "core/lanes/job_table.hpp"
#include "core/lanes/run_times.hpp"
#include "core/limits/fair_share.hpp"
#include "core/process/duty.hpp"
#include "memory/server_mark.hpp"
#include "pg/spi.hpp"

extern "C" {
#include "storage/condition_variable.h"
}

namespace hipq::memory {

inline constexpr int max_databases = 256;
inline constexpr int no_process = -1;

// A queue for whose lanes there is not room enough; lanes/lane_table.hpp.
inline constexpr std::size_t max_crowded_queues = 16;
struct CrowdedQueue {
    int queue_id;     // 0: free
    unsigned misses;  // how often a lane found no room
};

enum class SchedulerState : unsigned char { none, starting, running, leaving };

inline constexpr int owners_not_known = -1;

struct DatabaseSlot {
    Oid database;  // InvalidOid: free
    SchedulerState scheduler;
    std::uint32_t generation;
    bool watches_prefetched;  // the scheduler looks every now and then whether an executor sits on
                              // jobs that others could run
    int process;              // PGPROC number of the scheduler, or no_process
    pg::Time started;         // of the scheduler
    pg::Time last_look;       // when its last look began, by hipq's clock
    bool is_looking;          // that has not ended
    bool must_give_way;   // the scheduler is to leave for a process that found no background worker
                          // slot
    bool dispatch_asked;  // a job or a worker may be waiting for the other
    pg::Time next_due;    // when a scheduler has to look; infinity: when somebody says so
    pg::Time not_before;  // the launcher starts none before (after failures)
    int failures;         // in a row
    bool
        closed;  // nothing may run there: commits there start no scheduler until database_changed()
    bool changed;      // by database_changed(), since the last look
    int queue_owners;  // that may need executors, as the scheduler has counted them; or
                       // owners_not_known
    bool looked;  // a scheduler has looked: what an earlier life of the server left is in order
    unsigned restores;  // by jobs_restored(), and one more
    unsigned aims;      // by jobs_aimed(), and one more
    unsigned
        prepares;  // how many there had been in all at the last note_prepared() here; 0: none here
    unsigned lane_losses;    // by lose_lanes(), and one more; lanes/lane_table.hpp
    unsigned lane_searches;  // `lane_losses` when all lanes were found last; 0: not yet
    std::array<CrowdedQueue, max_crowded_queues> crowded;  // of which not all were
    unsigned recovered;  // when all live leaves were read for what was left there: `restores` at
                         // that time; 0: not yet
};

enum class ExecutorState : unsigned char { free, requested, starting, idle, running, orphaned };

// A job whose handler an executor runs.
struct RunningJob {
    int queue_id;
    int attempt;  // 0: not the job runs, its retry handler is asked, or the handler of its dead
                  // letter
    std::int64_t id;
    pg::Time started;
    bool is_locked;  // claimed by a row lock alone: its row still says that it waits
    char type[64];
};

// One attempt of a job. What it weighs counts from its start to its end.
struct Attempt {
    std::int64_t id;
    int number;
    core::Load load;
};

// What the code that an executor runs may be stopped by; executors/stop_control.hpp. Times are
// those of the real clock.
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

// The hand that an executor works on; executors/shares.hpp.
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
    RunningJob job;  // running and orphaned: the job, the first of a batch; id 0 = none
    StopControl stop_control;
};

// A retry decision to be made, or a dead letter to be handled; executors/pending_decisions.hpp.
inline constexpr int max_decisions = 256;
struct Decision {
    Oid database;
    Oid role;
    int queue_id;
    std::int64_t job_id;  // 0: free; for dead letters the queue's number: one entry stands for all
                          // of a queue
    bool is_dead_letter = false;
};

// Somebody who waits for the end of a job; wakeup/completion_waiters.hpp.
inline constexpr int max_awaited_ends = 1024;
struct AwaitedEnd {
    std::int64_t job_id;
    Oid database;
    int process;  // PGPROC number of a session, or no_process: the scheduler, whoever that is by
                  // then
    bool was_told;
};

// databases/quiesce.hpp
struct Quiesce {
    Oid database;
    pg::Time end;
};

// lanes/run_times.hpp
inline constexpr std::size_t max_run_times = 1024;

// alerts.hpp
enum class Alert : unsigned char {
    databases_full,
    jobs_in_flight_full,
    decisions_full,
    run_times_full,
    no_worker_slot,
    executor_wanted,
    executor_unresponsive,
    no_flight_recorder,
    crash_cases_full,
    start_failures_full,
    marks_full,
    lanes_full,
    cursor_miss,
    no_start,
    scheduler_late,
    workers_full,
    job_set_aside,
    no_worker,
    worker_quota
};
inline constexpr std::size_t alert_count = 19;
struct AlertRecord {
    std::int64_t times;
    pg::Time first;  // of the present spell
    pg::Time last;
};

// A queue owner whose executors cannot start, or failed to; executors/start_failures.hpp.
inline constexpr int max_start_failures = 64;
struct StartFailure {
    Oid database;  // InvalidOid: free
    Oid role;
    int failures;  // in a row
    bool refused;  // by a condition: not before the scheduler says otherwise
    pg::Time not_before;
};

// Of the executors; executors/shares.hpp.
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

// A database whose workers stand aside, and the process that wants it so;
// databases/stand_aside.hpp.
inline constexpr int max_marks = 32;
struct StandAside {
    Oid database;  // InvalidOid: free
    int process;   // PGPROC number
    int pid;
};

// A duty of a scheduler that a lock or an error was against; databases/duties_set_aside.hpp.
inline constexpr int max_set_aside = 128;
struct SetAside {
    Oid database;  // InvalidOid: free
    int queue_id;  // 0: of the whole database
    core::Duty duty;
    core::Trouble trouble;  // the last time
    std::int64_t times;
    pg::Time first;
    pg::Time last;
    char error[256];
};

struct Registry {
    ServerMark server_mark;
    int launcher;        // PGPROC number, or no_process
    bool look_at_all;    // a database found no slot: the launcher looks at all of them from time to
                         // time
    int executor_count;  // length of `executors`
    int open_crash_cases;  // flight/crash_cases.hpp
    unsigned prepares;     // calls of note_prepared()
    bool no_free_slot;     // the last process found no free background worker slot
    StartFailure start_failures[max_start_failures];
    int owner_count;     // places in use: the first ones
    int waiting_owners;  // with executors missing
    OwnerShare owners[max_owner_shares];
    core::VirtualTime owner_clock;
    core::QueueClock latest_clock;  // the latest of all owners
    QueueShare queues[max_queue_shares];
    StandAside marks[max_marks];
    ConditionVariable departure;  // a scheduler or executor is gone
    Quiesce quiesce;
    int decision_count;  // entries in use
    Decision decisions[max_decisions];
    int awaited_count;  // entries in use, which come first
    AwaitedEnd awaited_ends[max_awaited_ends];
    AlertRecord alerts[alert_count];
    SetAside set_aside[max_set_aside];
    core::RunTime run_times[max_run_times];
    DatabaseSlot databases[max_databases];
    ExecutorSlot executors[FLEXIBLE_ARRAY_MEMBER];
};
static_assert(std::is_trivially_copyable_v<DatabaseSlot> &&
              std::is_trivially_copyable_v<ExecutorSlot>);

// Whether hipq was preloaded, so that there is shared memory.
bool is_loaded();

// Null when not loaded.
Registry *registry();

// Every job that somebody has in flight; lanes/in_flight.hpp. Only when loaded.
core::JobTable jobs_in_flight();

// What a job ends with that is to be cancelled: kept beside its entry, or where it has none beside
// the slot of its executor. Needs the lock.
inline constexpr std::size_t max_cancellation_error = 256;
char *cancellation_error(std::int32_t entry);
char *cancellation_error(const ExecutorSlot &slot);

// Who may have jobs in flight, as the holders of that table: executors by slot (these are the
// first), the scheduler of each database slot on their way to a worker, external workers by their
// place, and last of all whoever completes a job that its handler has left running.
int scheduler_holder(int database_slot);
int worker_holder(std::int32_t place);
int left_running_holder();

// How many jobs may be in flight at once.
Size job_capacity();

// Places for workers: as many as may be registered, and as many for those that have departed and
// still have jobs.
std::int32_t worker_places();

// What somebody else keeps in the shared segment, and what they want to hear of. Null: nothing.
// PostgreSQL regime.
struct Part {
    void (*request)() = nullptr;  // at server start: asks for the memory
    void (*set_up)() = nullptr;   // finds it, or fills it when it is new; under AddinShmemInitLock
    void (*begin)() = nullptr;    // after all are set up
    void (*forget_database)(Oid) noexcept =
        nullptr;  // the database, or its extension, is gone; under the lock
    // A scheduler ends that was this holder of jobs; under the lock, before its slot is free.
    void (*scheduler_exits)(DatabaseSlot &, int holder) noexcept = nullptr;
    void (*capacity_freed)(Oid database) noexcept =
        nullptr;  // somebody has waited for it there; without the lock
};

// Called by _PG_init, at most once for each part. They are heard in this order.
void add_part(const Part &part);

// Forgets everything about a database that is gone, or whose extension is. Takes the lock.
void forget_database(Oid database) noexcept;

// What a scheduler has in flight when it ends. Needs the lock.
void tell_of_scheduler_exit(DatabaseSlot &slot, int holder) noexcept;
void tell_of_freed_capacity(Oid database) noexcept;

// Has the memory asked for and set up at server start: called by _PG_init while preloading.
// PostgreSQL regime.
void install_hooks();

// Holds the lock for straight-line code: no allocation, no call that may ereport, no throw in
// between.
class Lock {
public:
    explicit Lock(LWLockMode mode);
    ~Lock();
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;
};

// Wakes the process with that PGPROC number; no_process is nobody.
void wake_process(int process);

}  // namespace hipq::memory
