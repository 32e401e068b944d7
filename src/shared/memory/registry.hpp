// Shared memory: which databases need a scheduler, and what of the segment is not a room's own.
//
// Plain data, no pointers into a process. Processes are found by slot and generation and woken
// through the latch of the PGPROC their slot names: a stale one costs a superfluous wake-up,
// nothing else. Rooms add parts of their own, each with a lock of its own.
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

// A queue for whose lanes there is not room enough; shared/lanes/lane_table.hpp.
inline constexpr std::size_t max_crowded_queues = 16;
struct CrowdedQueue {
    int queue_id;     // 0: free
    unsigned misses;  // how often a lane found no room
};

enum class SchedulerState : unsigned char { none, starting, running, leaving };

inline constexpr int owners_not_known = -1;

// What other nodes have been told of a database that is one; shards/alive.cpp.
struct SentSigns {
    pg::Time next;     // at the latest
    pg::Time last;     // 0: none since the server started
    std::int64_t job;  // the numbers that its sequences had given then
    std::int64_t letter;
    unsigned readers;  // `Registry::readers` then
    bool was_news;     // a transaction that was open then may have given more
};

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
    bool shares_asked;    // a job has found no capacity under this node's share of a limit
    bool shares_changed;  // rows of shares have
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
    unsigned lane_losses;    // by lose_lanes(), and one more; shared/lanes/lane_table.hpp
    unsigned lane_searches;  // `lane_losses` when all lanes were found last; 0: not yet
    std::array<CrowdedQueue, max_crowded_queues> crowded;  // of which not all were
    SentSigns signs;
    unsigned recovered;  // when all live leaves were read for what was left there: `restores` at
                         // that time; 0: not yet
};

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

// shared/databases/quiesce.hpp
struct Quiesce {
    Oid database;
    pg::Time end;
};

// A database whose workers stand aside, and the process that wants it so;
// shared/databases/stand_aside.hpp.
inline constexpr int max_marks = 32;
struct StandAside {
    Oid database;  // InvalidOid: free
    int process;   // PGPROC number
    int pid;
};

// A duty of a scheduler that a lock or an error was against; shared/databases/duties_set_aside.hpp.
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
    int launcher;       // PGPROC number, or no_process
    bool look_at_all;   // a database found no slot: the launcher looks at all of them from time to
                        // time
    unsigned prepares;  // calls of note_prepared()
    unsigned readers;   // calls of reader_came()
    StandAside marks[max_marks];
    ConditionVariable departure;  // a scheduler or executor is gone
    Quiesce quiesce;
    SetAside set_aside[max_set_aside];
    DatabaseSlot databases[max_databases];
};

// Whether hipq was preloaded, so that there is shared memory.
bool is_loaded();

// Null when not loaded.
Registry *registry();

// Places for executors: each is a background worker, so there can be no more than those.
int executor_places();

// Who may have jobs in flight, as the holders of their table: executors by slot (these are the
// first), the scheduler of each database slot on their way to a worker, external workers by their
// place, and last of all whoever completes a job that its handler has left running.
int scheduler_holder(int database_slot);
int worker_holder(std::int32_t place);
int left_running_holder();

// Places for workers: as many as may be registered, and as many for those that have departed and
// still have jobs.
std::int32_t worker_places();

// What a scheduler leaves behind that the next one has to see to.
struct LeftByScheduler {
    bool must_look;     // there may be work of which nobody says when it is due
    bool must_recover;  // a job whose claim may have committed: its row tells
};

// What a room keeps in the shared segment, and what it wants to hear of. Null: nothing. PostgreSQL
// regime. What is called while the server runs is called without a lock, so each takes its own.
struct Part {
    void (*request)() = nullptr;  // at server start: asks for the memory and the locks
    void (*set_up)() = nullptr;   // finds it, or fills it when it is new; under AddinShmemInitLock
    void (*begin)() = nullptr;    // after all are set up
    void (*forget_database)(Oid) noexcept = nullptr;  // the database, or its extension, is gone
    // A scheduler ends that was this holder of jobs; its slot is not free yet.
    LeftByScheduler (*scheduler_exits)(int holder) noexcept = nullptr;
    void (*capacity_freed)(Oid database) noexcept = nullptr;  // somebody has waited for it there
};

// Called by _PG_init, at most once for each part. They are heard in this order.
void add_part(const Part &part);

// Forgets everything about a database that is gone, or whose extension is. Holds no lock.
void forget_database(Oid database) noexcept;

// What a scheduler has in flight when it ends. Holds no lock.
LeftByScheduler tell_of_scheduler_exit(int holder) noexcept;
void tell_of_freed_capacity(Oid database) noexcept;

// Has the memory asked for and set up at server start: called by _PG_init while preloading.
// PostgreSQL regime.
void install_hooks();

// Holds the lock of the registry, HipqDatabases.
class Lock : public TrancheLock {
public:
    explicit Lock(LWLockMode mode);
};

// Wakes the process with that PGPROC number; no_process is nobody.
void wake_process(int process);

}  // namespace hipq::memory
