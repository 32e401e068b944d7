// Databases in the registry: who has work and when somebody has to look.
#pragma once

#include "memory/memory.hpp"

namespace hipq::databases {

// A scheduler to start: what the launcher hands to the process.
struct SchedulerTicket {
    int slot;
    std::uint32_t generation;
    Oid database;
};

// Says that a scheduler has to look at the database at `due` (or earlier, if that was said already)
// and wakes whoever has to know now. It looks at the queues that are dirty, or due, by then.
// Cannot fail.
void look_due(Oid database, pg::Time due) noexcept;

// The same, and what has happened may matter to every queue in which jobs wait, if it is to look
// now. Cannot fail.
void work_due(Oid database, pg::Time due) noexcept;

// Says that what decides whether anything may run in a database has changed, or its queues or job
// types: even a closed one is looked at. Cannot fail.
void database_changed(Oid database) noexcept;

// Says that jobs in the middle of an attempt may have been loaded: recovery_due(). Cannot fail.
void jobs_restored(Oid database) noexcept;

// Says that a transaction of this process, with notes for hipq, has been prepared. Cannot fail.
void note_prepared() noexcept;

// The databases in which that was said, with a number that is another one each time.
struct Prepares {
    Oid database;
    unsigned count;
};
std::vector<Prepares> list_prepares();

// Says that jobs for one worker each may have been enqueued: count_aims(). Cannot fail.
void jobs_aimed(Oid database) noexcept;

// Has every scheduler that runs look again, at all its queues: who may do what has changed. Cannot
// fail.
void everybody_looks() noexcept;

// Whether a scheduler has looked at the database and left nothing undone that a job would have to
// wait for.
bool is_in_order(Oid database);

// Whether nothing may run there.
bool is_closed(Oid database);

// There is no free background worker slot: the scheduler that has been there longest leaves for a
// while.
void ask_scheduler_to_give_way();
// The same with the lock held.
void choose_scheduler_to_give_way();
// There are free ones again: who was asked may stay.
void need_no_capacity();

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
bool must_look_at_all_databases();
void begin_look_at_all_databases();
// Gives a database that is not known a place, and a look; another one that can wait loses its
// place. False: no room now.
bool make_known(Oid database);
// No scheduler can or may work there: none is started until database_changed() says otherwise.
void close_database(const SchedulerTicket &ticket);

// Has the scheduler find workers for jobs: one of the two has come to be there. Cannot fail.
void ask_for_dispatch(Oid database) noexcept;
// Scheduler: whether it was asked since this was asked last.
bool was_asked_for_dispatch();

// Executor: has the scheduler look every now and then whether the current job keeps the rest of its
// hand waiting.
void watch_prefetched();

// Scheduler: takes its slot (false: it is not meant to run any more); the exit callback gives it
// back.
bool attach_scheduler(const SchedulerTicket &ticket);
int own_database_slot();  // -1: this process is no scheduler
// Before looking: forgets what was said so far, so that nothing said while looking is lost. After
// looking: the earliest of what was said meanwhile and what was found.
void begin_look();
pg::Time end_look(pg::Time next_due);
// When the next look is due, by what end_look() found and what was said since then: at once if a
// scheduler is to make room.
pg::Time next_look();

// The scheduler looks after the prefetched batches of executors as long as there are any.
bool watches_prefetched();
void stop_watching_prefetched() noexcept;

// As the scheduler has counted the queue owners that may need executors. Returns whether that is
// news.
bool set_queue_owners(int owners);

// Whether the live leaves have to be read for what was left there: by the server's last life, by a
// restore, by a scheduler that ended before it was done. The number of restores so far; once the
// leaves are read, what it was at the beginning says so to the schedulers to come; 0 says that
// there is something left again.
std::optional<unsigned> recovery_due();
void recovery_done(unsigned restores);

// How often jobs_aimed() was called for this process's database: when it is another number there
// may be jobs that this scheduler has not seen. 0: this process is no scheduler.
unsigned count_aims();

// Leaves unless something became due earlier than `stay_until` meanwhile; true: gone.
bool leave_scheduler(pg::Time stay_until);
// Leaves until `come_back` if another process needs the background worker slot; true: gone.
bool leave_to_give_way(pg::Time come_back);
// Leaves because nothing may run here, unless database_changed() was said since begin_look(); true:
// gone.
bool leave_closed_database();

extern const memory::Part databases_part;

}  // namespace hipq::databases
