// The slot of the database whose scheduler this process is.
#pragma once

#include "shared/databases/scheduler_ticket.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::databases {

// Takes the ticket's slot. Returns false if the scheduler must not run any more. The exit callback
// gives the slot back.
[[nodiscard]] bool attach_scheduler(const SchedulerTicket &ticket);
int own_database_slot();  // -1: this process is no scheduler
// Whether ask_for_dispatch() was called since the last call of this function.
bool was_asked_for_dispatch();
// The same for ask_for_shares() and shares_changed(); these flags stay set until they are taken.
struct SharesAsked {
    bool is_asked;
    bool have_changed;
    bool any() const { return is_asked || have_changed; }
};
SharesAsked shares_asked();
SharesAsked take_shares_asked();
// Whether ask_for_waits() was called since the last call of this function.
bool was_asked_for_waits();
// A number that changes with each waits_unknown(), and the one that was last passed to
// waits_seen(): if they differ, all waits must be looked at. The scheduler passes 0 as long as it
// works on waits, so that the next one looks at all of them if it exits. If they are equal, the
// next one needs only jobs after batches that were open until that time or a later one.
struct WaitCalls {
    unsigned present = 0;
    unsigned seen = 0;
    pg::Time open_until = pg::infinity;
};
WaitCalls wait_calls();
void waits_seen(unsigned calls, pg::Time open_until = pg::infinity);
// begin_look() clears the requests before a look, so that requests made during the look are not
// lost. end_look() returns the earliest of those requests and of what the look found.
void begin_look();
pg::Time end_look(pg::Time next_due);
// When the next look is due, by the result of end_look() and by later requests: at once if the
// scheduler must give way.
pg::Time next_look();

// What this database has told other nodes. Empty if the slot no longer belongs to this process.
memory::SentSigns sent_signs();
void note_sent_signs(const memory::SentSigns &signs);

// Whether the scheduler must watch the prefetched batches of executors. It does so as long as there
// are any.
bool watches_prefetched();
void stop_watching_prefetched() noexcept;

// Sets the scheduler's count of queue owners that may need executors. Returns whether it changed.
bool set_queue_owners(int owners);

// Returns the number of restores so far if the live leaves must be read for jobs in the middle of
// an attempt. The previous run of the server, a restore, or a scheduler that exited too early may
// have left them. After the leaves are read, recovery_done() records for later schedulers the
// number from before the reading; 0 means that jobs are left again.
std::optional<unsigned> recovery_due();
void recovery_done(unsigned restores);

// A number that changes with each jobs_aimed() for this process's database: if it has changed,
// there may be jobs that this scheduler has not seen. 0: this process is no scheduler.
unsigned count_aimed_calls();

// Leaves, unless something became due before `stay_until` in the meantime. Returns whether it left.
bool leave_scheduler(pg::Time stay_until);
// Leaves until `come_back` if another process needs the background worker slot. Returns whether it
// left.
[[nodiscard]] bool leave_to_give_way(pg::Time come_back);
// Leaves because nothing may run here, unless database_changed() was called since begin_look().
// Returns whether it left.
bool leave_closed_database();

}  // namespace hipq::databases
