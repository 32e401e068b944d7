// Executors: how many there are, which owners they work for, and how they are requested and woken.
#pragma once

#include "core/lanes/job_table.hpp"
#include "shared/executors/executor_table.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::executors {

struct ExecutorTicket {
    int slot;
    std::uint32_t generation;
    Oid database;
    Oid role;
};

// Scheduler
// ----------------------------------------------------------------------------------------------

// Makes up to `wanted` executors work for a queue owner; `weight` is the total weight of the
// owner's queues with due jobs. Wakes idle executors, and requests more from the launcher while
// hipq.max_executors allows. If there is no room, the owner waits: if it has no executor, an idle
// executor of another owner leaves at once; busy executors leave as
// shared/executors/executor_shares.hpp says.
void want_executors(Oid database, Oid role, int wanted, std::int64_t weight, pg::Time now);

// The number of executors of a queue owner that are running or being started.
int count_executors(Oid database, Oid role);

// Launcher
// ----------------------------------------------------------------------------------------------

// note_free_worker_slots() records whether the last process to be started found a free background
// worker slot; has_free_worker_slots() returns that.
void note_free_worker_slots(bool are_there);
bool has_free_worker_slots();

std::size_t take_requested_executors(std::span<ExecutorTicket> tickets);
void executor_not_started(const ExecutorTicket &ticket);  // its process did not start
// There was no free background worker slot: the executor stays requested, and a scheduler is asked
// to make room.
void executor_found_no_slot(const ExecutorTicket &ticket);
// A new launcher frees the slots of executors that its predecessor was about to start. If such a
// process still starts, it finds that its ticket is no longer valid.
void forget_starting_executors();

// At commit
// ----------------------------------------------------------------------------------------------

// Requests the start of an executor for a queue owner, for one due job. Cannot fail. Returns false
// if there is no room, or if the database's scheduler must look at the database first.
bool request_executor(Oid database, Oid role, pg::Time now) noexcept;

// Wakes one idle executor of a queue owner that has not been woken yet: one wakeup, one job. Cannot
// fail. Returns false if there is none.
[[nodiscard]] bool wake_idle_executor(Oid database, Oid role) noexcept;

// Any process
// ----------------------------------------------------------------------------------------------

// The rows of the view hipq.executors.
std::vector<ExecutorSlot> list_executors();

// Whether the process with that PGPROC number is an executor of the database.
bool is_executor(Oid database, int process) noexcept;

// Functions on the table itself, which need the lock of executors
// ----------------------------------------------------------------------------------------------

// Returns the slot that a ticket names, or null if the ticket is no longer valid.
ExecutorSlot *executor_slot_of(const ExecutorTicket &ticket);

// Describes one entry of the jobs in flight as the job that its executor runs. Needs the lock of
// the jobs in flight.
memory::RunningJob job_of(const ExecutorSlot &slot, const core::JobEntry &entry) noexcept;

// Removes jobs from an executor's prefetched batch: all jobs, or those that are not running. Needs
// the lock of the jobs in flight, exclusively. Returns whether there were any.
bool drop_prefetched(const ExecutorSlot &slot, bool running_too);

// The number of executors that an owner has or has requested.
int count_alive(Oid database, Oid role);

// Whether an executor that runs no job is about to leave.
bool somebody_leaves();

// Requests executors for the owners that wait, as far as there is room, and wakes the launcher. If
// there is no room, asks an idle executor of another owner to leave.
void give_out_executors(pg::Time now);

// Frees the slot. Takes the lock of the jobs in flight.
void free_executor_slot(ExecutorSlot &slot);
// The same, with that lock held exclusively by the caller.
void clear_executor_slot(ExecutorSlot &slot);

// Whether there are too many executors, because hipq.max_executors may have been lowered. Each
// executor counts those before it, so exactly the surplus leaves.
bool is_one_too_many(const ExecutorSlot &slot);

extern const memory::Part executors_part;

}  // namespace hipq::executors
