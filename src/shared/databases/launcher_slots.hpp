// Slots of databases as the launcher sees them: which schedulers to start, and when.
#pragma once

#include "shared/databases/scheduler_ticket.hpp"

namespace hipq::databases {

// Launcher: registers itself; the schedulers due at `now`, marked as starting; when the next one
// will be.
void attach_launcher();
std::size_t take_due_schedulers(pg::Time now, std::span<SchedulerTicket> tickets);
pg::Time next_scheduler_due();
// The scheduler has ended before it came up: put off for a while that doubles with each failure in
// a row.
void scheduler_failed(const SchedulerTicket &ticket);
// There was no free background worker slot: it stays due, and another scheduler is to make room.
void scheduler_found_no_slot(const SchedulerTicket &ticket);
bool must_look_at_all_databases();
void begin_look_at_all_databases();
// No scheduler can or may work there: none is started until database_changed() says otherwise.
void close_database(const SchedulerTicket &ticket);

// There is no free background worker slot: the scheduler that has been there longest leaves for a
// while.
void ask_scheduler_to_give_way();
// The same with the lock held.
void choose_scheduler_to_give_way();
// There are free ones again: who was asked may stay.
void call_off_giving_way();

// When the scheduler of a database looked last; infinity: nothing is known of that one, or nothing
// may run there.
pg::Time last_look(Oid database);
// A scheduler that is to look now, or again once its present look has ended.
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
