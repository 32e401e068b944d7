// The shared segment's registry: which databases need a scheduler, and the data that has no folder
// of its own.
//
// The data is plain and holds no pointers into a process. A process is found by its slot and
// generation, and woken through the latch of the PGPROC that its slot names; a stale PGPROC number
// costs only a superfluous wakeup. Other folders add parts of their own, each with its own lock.
#pragma once

#include "core/limits/throttle.hpp"
#include "core/process/duty.hpp"
#include "pg/spi.hpp"
#include "shared/memory/server_mark.hpp"
#include "shared/memory/tranche.hpp"

extern "C" {
#include "storage/condition_variable.h"
}

namespace hipq::memory {

inline constexpr int max_databases = 256;
inline constexpr int no_process = -1;

// A queue for some of whose lanes the lane table had no room; see shared/lanes/lane_table.hpp.
inline constexpr std::size_t max_crowded_queues = 16;
struct CrowdedQueue {
    int queue_id;     // 0: free
    unsigned misses;  // how often the table had no room for a lane
};

enum class SchedulerState : unsigned char { none, starting, running, leaving };

inline constexpr int owners_not_known = -1;

// What this database, as a node of a sharded instance, has told the other nodes; see
// shards/alive.cpp.
struct SentSigns {
    pg::Time next;     // the latest time for the next sign of life
    pg::Time last;     // when the last sign was sent; 0: none since the server started
    std::int64_t job;  // the last job id that the sequence had given at that sign
    std::int64_t letter;
    unsigned readers;  // `Registry::readers` at that sign
    bool was_news;     // ids were drawn between the previous sign and that sign; a transaction open
                       // at that sign may have drawn more
};

struct DatabaseSlot {
    Oid database;  // InvalidOid: free
    SchedulerState scheduler;
    std::uint32_t generation;
    bool watches_prefetched;  // the scheduler checks from time to time whether an executor keeps
                              // prefetched jobs waiting that other executors could run
    int process;              // PGPROC number of the scheduler, or no_process
    pg::Time started;         // when the scheduler started
    pg::Time last_look;       // when its last look began, by hipq's clock
    bool is_looking;          // that look has not ended yet
    bool must_give_way;       // the scheduler must leave, because another process found no free
                              // background worker slot
    bool dispatch_asked;      // a job may be waiting for a worker, or a worker for a job
    bool shares_asked;        // a job found no capacity under this node's share of a limit
    bool shares_changed;      // rows of shares have changed
    pg::Time next_due;    // when a scheduler must look next; infinity: when a process requests it
    pg::Time not_before;  // after failures: no scheduler is started before this time
    int failures;         // failures in a row
    // Nothing may run in the database: commits start no scheduler there until database_changed().
    bool closed;
    bool changed;      // database_changed() was called since the last look
    int queue_owners;  // how many queue owners may need executors, as counted by the scheduler; or
                       // owners_not_known
    bool looked;  // a scheduler has looked at the database since the server started, and cleaned up
                  // after the previous run
    unsigned restores;            // number of jobs_restored() calls, plus one
    unsigned aimed_calls;         // number of jobs_aimed() calls, plus one
    unsigned wait_calls;          // number of waits_unknown() calls, plus one
    unsigned waits_seen;          // `wait_calls` when all waits had been looked at; 0: not yet
    pg::Time batches_open_until;  // the earliest time at which one of the batches that jobs come
                                  // after closes by itself, when all waits had been looked at
    bool waits_asked;             // the end of a watched job was reported
    unsigned prepares;     // `Registry::prepares` after its last note_prepared(); 0: there was none
    unsigned lane_losses;  // number of lose_lanes() calls, plus one; shared/lanes/lane_table.hpp
    unsigned lane_searches;  // `lane_losses` when all lanes were last found; 0: not yet
    std::array<CrowdedQueue, max_crowded_queues> crowded;  // queues with lanes not found
    SentSigns signs;
    unsigned recovered;  // `restores` when all live leaves were last read for jobs left in the
                         // middle of an attempt; 0: not yet
};

// A job whose handler an executor is running.
struct RunningJob {
    int queue_id;
    int attempt;  // 0: what runs is not the job itself, but its retry handler or the handler of its
                  // dead letter
    std::int64_t id;
    pg::Time started;
    bool is_locked;  // claimed only by a row lock: the row still says that the job waits
    char type[64];
};

// One attempt of a job. Its load counts from its start to its end.
struct Attempt {
    std::int64_t id;
    int number;
    core::Load load;
};

// See shared/databases/quiesce.hpp.
struct Quiesce {
    Oid database;
    pg::Time end;
};

// A database whose processes stand aside, and the process that requested it; see
// shared/databases/stand_aside.hpp.
inline constexpr int max_marks = 32;
struct StandAside {
    Oid database;  // InvalidOid: free
    int process;   // PGPROC number
    int pid;
};

// A duty of a scheduler that is set aside because of a lock or an error; see
// shared/databases/duties_set_aside.hpp.
inline constexpr int max_set_aside = 128;
struct SetAside {
    Oid database;  // InvalidOid: free
    int queue_id;  // 0: the duty is for the whole database
    core::Duty duty;
    core::Trouble trouble;  // the most recent cause
    std::int64_t times;
    pg::Time first;
    pg::Time last;
    char error[256];
};

struct Registry {
    ServerMark server_mark;
    int launcher;              // PGPROC number, or no_process
    pg::Time look_at_all_due;  // when the launcher must look at all databases, because one has no
                               // slot any more, or found none; infinity: none did
    pg::Time rights_look;      // when all schedulers were last asked to look because of rights
    bool rights_look_waits;    // another such request came too soon: the launcher passes it on
    unsigned prepares;         // number of note_prepared() calls
    unsigned readers;          // number of reader_came() calls
    StandAside marks[max_marks];
    ConditionVariable departure;  // signalled when a scheduler or executor exits
    Quiesce quiesce;
    SetAside set_aside[max_set_aside];
    DatabaseSlot databases[max_databases];
};

// Whether hipq was preloaded, and so has shared memory.
bool is_loaded();

// Returns null if hipq was not preloaded.
Registry *registry();

// The number of executor slots. Each executor is a background worker, so max_worker_processes
// limits their number.
int executor_places();

// The holders of jobs in flight, by number: first the executors, by slot; then the scheduler of
// each database slot, for jobs on their way to a worker; then the external workers, by their place,
// for the jobs that they have accepted; then one number for any process that completes a job that
// its handler left running; last, the workers again, for the jobs that they are offered.
int scheduler_holder(int database_slot);
int worker_holder(std::int32_t place);
int left_running_holder();
int offer_holder(std::int32_t place);
int holder_count();

// The number of worker places: the maximum of registered workers, and as many again for workers
// that have departed and still hold jobs.
std::int32_t worker_places();

// What a folder keeps in the shared segment, and the events it handles. Null: nothing to do. The
// functions run inside pg::call() or in C frames, where an ERROR is a longjmp. No lock is held when
// they are called while the server runs, so each takes its own.
struct Part {
    void (*request)() = nullptr;  // at server start: requests the memory and the locks
    void (*set_up)() = nullptr;   // attaches, or initializes new memory; under AddinShmemInitLock
    void (*begin)() = nullptr;    // after all parts are set up
    void (*forget_database)(Oid) noexcept = nullptr;  // the database or its extension was dropped
    // The scheduler with this holder number exits; its slot is not free yet. Returns whether there
    // may be work without a recorded due time, for the next scheduler.
    bool (*scheduler_exits)(int holder) noexcept = nullptr;
    void (*capacity_freed)(Oid database) noexcept = nullptr;  // processes waited for it there
};

// _PG_init calls this once for each part. Parts handle events in the order in which they were
// added.
void add_part(const Part &part);

// Forgets everything about a database that was dropped, or whose extension was dropped. The caller
// must not hold a lock.
void forget_database(Oid database) noexcept;

// Runs every part's scheduler_exits and returns the combined result. The caller must not hold a
// lock.
bool tell_of_scheduler_exit(int holder) noexcept;
void tell_of_freed_capacity(Oid database) noexcept;

// Installs the hooks that request and set up the memory at server start. _PG_init calls it while
// preloading; call inside pg::call() only.
void install_hooks();

// Holds the registry's lock, HipqDatabases.
class Lock : public TrancheLock {
public:
    explicit Lock(LWLockMode mode);
};

// Sets the latch of the process with that PGPROC number; no_process is ignored.
void wake_process(int process);

}  // namespace hipq::memory
