// Executors: how many there are, whom they work for, who is asked for and who is
// woken.
#pragma once

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

// Sees to it that up to `wanted` executors work for a queue owner, whose queues with due jobs have
// that weight together: wakes idle ones, asks the launcher for more while hipq.max_executors
// allows. When there is no room the owner waits (for one that has none idle executors of others
// leave at once; busy ones leave as shares.hpp says).
void want_executors(Oid database, Oid role, int wanted, std::int64_t weight, pg::Time now);

// Executors of a queue owner that have a process, or are being given one.
int count_executors(Oid database, Oid role);

// Launcher
// ----------------------------------------------------------------------------------------------

// Whether the last process to be started found a free background worker slot.
void note_free_worker_slots(bool are_there);
bool has_free_worker_slots();

std::size_t take_requested_executors(std::span<ExecutorTicket> tickets);
void executor_not_started(const ExecutorTicket &ticket);  // its process never came to be
// There was no free background worker slot: it stays requested, and a scheduler is to make room.
void executor_found_no_slot(const ExecutorTicket &ticket);
// For a new launcher: those that the one before was about to start. A process that still comes up
// finds that it is not wanted.
void forget_starting_executors();

// A commit
// ----------------------------------------------------------------------------------------------

// Has an executor started for a queue owner, for one job that is due. Cannot fail. False: there is
// no room, or the database is for its scheduler to look at first.
bool request_executor(Oid database, Oid role, pg::Time now) noexcept;

// Wakes one idle executor of a queue owner that nobody has woken yet: one wake-up, one job. Cannot
// fail. False: there is none.
bool wake_idle_executor(Oid database, Oid role) noexcept;

// Everybody
// ----------------------------------------------------------------------------------------------

// What view hipq.executors shows.
std::vector<ExecutorSlot> list_executors();

// Whether the process with that PGPROC number is an executor of the database.
bool is_executor(Oid database, int process) noexcept;

// Of the table itself; they need the lock of executors
// ----------------------------------------------------------------------------------------------

// The slot a ticket names; null: it is not that one's any more.
ExecutorSlot *executor_slot_of(const ExecutorTicket &ticket);

// One entry of the jobs in flight as the job that its executor runs. Needs the lock of these.
memory::RunningJob job_of(const ExecutorSlot &slot, const core::JobEntry &entry) noexcept;

// Takes jobs out of an executor's prefetched batch: those that do not run, or all. Needs the lock
// of the jobs in flight, exclusively. Returns whether there were any.
bool drop_prefetched(const ExecutorSlot &slot, bool running_too);

// Those of an owner that are there or asked for.
int count_alive(Oid database, Oid role);

// Whether one that has no job is about to go.
bool somebody_leaves();

// Asks for executors for those who wait, as far as there is room: the launcher has to be woken.
// Where there is none, idle ones of others are asked to leave.
void give_out_executors(pg::Time now);

// Nobody's any more. Takes the lock of the jobs in flight.
void free_executor_slot(ExecutorSlot &slot);
// The same with that lock held, exclusively.
void clear_executor_slot(ExecutorSlot &slot);

// hipq.max_executors may have been lowered. Each counts those before it, so that as many leave as
// are too many.
bool is_one_too_many(const ExecutorSlot &slot);

extern const memory::Part executors_part;

}  // namespace hipq::executors
