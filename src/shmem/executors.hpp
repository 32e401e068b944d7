// Executors in the registry: asked for, started, busy, gone.
#pragma once

#include "shmem/registry.hpp"

namespace hipq::shmem {

struct ExecutorTicket {
    int slot;
    std::uint32_t generation;
    Oid database;
    Oid role;
};

// Scheduler
// ----------------------------------------------------------------------------------------------------------------------------

// Sees to it that up to `wanted` executors work for a queue owner: wakes idle ones, asks the launcher for more while
// hipq.max_executors allows. When there is no room it marks that somebody waits (idle executors of others leave at once, busy
// ones after their quantum).
void want_executors(Oid database, Oid role, int wanted, pg::Time now);

// A job whose executor is gone: nobody can reserve it until the scheduler of its database releases it, which gives the slot free
// with the last one.
struct Orphan {
    int slot;
    std::uint32_t generation;
    RunningJob job;
    int pid;
    bool asked_retry_handler;  // not the handler ran, but the retry handler
    bool timed_out;            // its code was past its deadline
    bool is_cancelled;         // it was to be cancelled
};
std::size_t find_orphans(Oid database, std::span<Orphan> orphans);
std::string cancellation_of(const Orphan &orphan);  // what it is to end with
void release_orphan(const Orphan &orphan);

// Executors of a queue owner that have a process, or are being given one.
int count_executors(Oid database, Oid role);

// Launcher
// -----------------------------------------------------------------------------------------------------------------------------

// Whether the last process to be started found a free background worker slot.
void note_free_slots(bool are_there);
bool has_free_slots();

std::size_t take_requested_executors(std::span<ExecutorTicket> tickets);
void executor_not_started(const ExecutorTicket &ticket);  // its process never came to be
// There was no free background worker slot: it stays requested, and a scheduler is to make room.
void executor_found_no_slot(const ExecutorTicket &ticket);
// For a new launcher: those that the one before was about to start. A process that still comes up finds that it is not wanted.
void forget_starting_executors();

// Executor
// -----------------------------------------------------------------------------------------------------------------------------

// Takes the slot; false: not wanted any more. At exit the slot is freed, or marked orphaned when a job was in hand.
bool attach_executor(const ExecutorTicket &ticket);
int own_executor_slot();  // -1: this process is none
ExecutorSlot *my_slot();  // null: this process is none. Needs the lock
// One attempt of a job.
struct Attempt {
    std::int64_t id;
    int number;
};
// Says what runs from now on: before the claim commits, until announce_idle(). `first` tells what all of them have in common.
void announce_jobs(const RunningJob &first, std::span<const Attempt> attempts);
void announce_job(const RunningJob &job);
void announce_idle();
// Whether to leave: asked to, or somebody else waits and this one is idle or has had its quantum.
bool should_leave(bool idle, pg::Time now);

// From here on nobody counts on this executor's being woken; it looks for work once more before it goes.
void begin_leaving();

// Before a look for work: forgets the wake-ups so far. After it: whether one came meanwhile, for work that the look may not have
// seen.
void begin_executor_look();
bool was_woken();

// Has an executor started for a queue owner, for one job that is due. Cannot fail. False: there is no room, or the database is
// for its scheduler to look at first.
bool request_executor(Oid database, Oid role, pg::Time now) noexcept;

// Wakes one idle executor of a queue owner that nobody has woken yet: one wake-up, one job. Cannot fail. False: there is none.
bool wake_idle_executor(Oid database, Oid role) noexcept;

// One entry of the jobs in hand as the job that its executor runs. Straight-line code.
RunningJob job_of(const ExecutorSlot &slot, const core::JobEntry &entry) noexcept;
// The array itself, and how an entry of it is given back. Need the lock.
std::span<ExecutorSlot> executor_slots();
void free_executor_slot(ExecutorSlot &slot);

// Everybody: what view hipq.executors shows.
std::vector<ExecutorSlot> list_executors();

}  // namespace hipq::shmem
