// The slot of the database whose scheduler this process is.
#pragma once

#include "shared/databases/scheduler_ticket.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::databases {

// Takes its slot (false: it is not meant to run any more); the exit callback gives it back.
bool attach_scheduler(const SchedulerTicket &ticket);
int own_database_slot();  // -1: this process is no scheduler
// Whether somebody has called ask_for_dispatch() since this was asked last.
bool was_asked_for_dispatch();
// The same of ask_for_shares() and shares_changed(), which stay said until they are taken.
struct SharesAsked {
    bool is_asked;
    bool have_changed;
    bool any() const { return is_asked || have_changed; }
};
SharesAsked shares_asked();
SharesAsked take_shares_asked();
// Before looking: forgets what was said so far, so that nothing said while looking is lost. After
// looking: the earliest of what was said meanwhile and what was found.
void begin_look();
pg::Time end_look(pg::Time next_due);
// When the next look is due, by what end_look() found and what was said since then: at once if a
// scheduler is to make room.
pg::Time next_look();

// What this database has told other nodes. Nothing of it is known where the slot is not this
// process's any more.
memory::SentSigns sent_signs();
void note_sent_signs(const memory::SentSigns &signs);

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

}  // namespace hipq::databases
