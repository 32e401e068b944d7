// Slots of databases as the launcher uses them: which schedulers to start, and when.
#pragma once

#include "shared/databases/scheduler_ticket.hpp"

namespace hipq::databases {

// For the launcher: attach_launcher() registers it, take_due_schedulers() returns the schedulers
// due at `now` and marks them as starting, next_scheduler_due() returns the next due time.
void attach_launcher();
std::size_t take_due_schedulers(pg::Time now, std::span<SchedulerTicket> tickets);
pg::Time next_scheduler_due();
// The scheduler exited before it was up: delay its next start, twice as long with each failure in a
// row.
void scheduler_failed(const SchedulerTicket &ticket);
// No background worker slot was free: the scheduler stays due, and another scheduler is asked to
// make room.
void scheduler_found_no_slot(const SchedulerTicket &ticket);
// When to look at all databases, because some are without a slot and not known to have none to look
// at; infinity: never. take_look_at_all() returns whether that is due, and withdraws the request.
pg::Time next_look_at_all();
bool take_look_at_all(pg::Time now);
// The clock was set back: a request counts now.
void hasten_look_at_all();
// A scheduler cannot or must not work there: start none until database_changed() is called.
void close_database(const SchedulerTicket &ticket);

// No background worker slot is free: ask the scheduler that has run longest to leave for a while.
void ask_scheduler_to_give_way();
// The same, with the lock held by the caller.
void choose_scheduler_to_give_way();
// Background worker slots are free again: withdraw the request.
void call_off_giving_way();

// When the scheduler of a database looked last; infinity: the database is unknown or closed.
pg::Time last_look(Oid database);
// A scheduler that must look now, or again once its current look has ended.
struct AwaitedLook {
    Oid database;
    std::uint32_t generation;
    pg::Time last_look;
    bool is_looking;
    int pid;
    bool operator==(const AwaitedLook &) const = default;
};
std::vector<AwaitedLook> awaited_looks();

}  // namespace hipq::databases
