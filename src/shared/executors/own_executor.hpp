// This process as an executor: its slot, what it runs, when it leaves.
#pragma once

#include "shared/executors/executor_slots.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::executors {

// Takes the ticket's slot. Returns false if the executor is no longer wanted. At exit the slot is
// freed, or marked as orphaned if a job was in flight.
[[nodiscard]] bool attach_executor(const ExecutorTicket &ticket);

int own_executor_index();  // of its slot; -1: this process is no executor
const ExecutorTicket &own_ticket();
ExecutorSlot *own_executor();  // null: this process is no executor; needs the lock

// Announces the jobs that run from now on until announce_idle(). Call before the claim commits.
// `first` holds what the jobs have in common.
void announce_jobs(const memory::RunningJob &first, std::span<const memory::Attempt> attempts);
void announce_job(const memory::RunningJob &job);
// How the jobs ended. Finished jobs are gone. For unknown jobs it is not known whether they can be
// claimed again.
enum class Jobs : unsigned char { finished, unknown };
void announce_idle(Jobs outcome);

// Notes a job that was chosen from the prefetched batch, so that announce_idle() releases it even
// if it is never announced.
void note_chosen(std::int64_t job_id);

// Whether this executor should leave: because it was asked to; or because another owner waits, and
// this executor is idle, or its turn is over and its owner has used more than its share
// (executor_shares.hpp).
bool should_leave(bool idle, pg::Time now);

// Makes this executor leave as if another process had asked it to.
void leave_soon();
// A job failed because transactions of this session begin read-only. Makes the jobs of this owner
// wait: the next executor is started after a delay.
void note_read_only(pg::Time now);

// From here on no other process counts on waking this executor. It looks for work once more before
// it leaves.
void begin_leaving();

// Before a commit: whether this executor looks for work right after it. A commit that makes one job
// claimable for an executor of this role then wakes no other one (leave_to_own_look() returns
// true): each look finds one job, and passes the wake-up on if there are more. If the executor runs
// something else first, or leaves, hand_look_on() wakes another one. None can fail.
void note_next_look(bool follows) noexcept;
[[nodiscard]] bool leave_to_own_look(Oid role) noexcept;
void hand_look_on() noexcept;

// Before a look for work: begin_executor_look() ends the turn and forgets earlier wakeups. After
// the look: was_woken() tells whether a wakeup came in the meantime, for work that the look may
// have missed.
void begin_executor_look();
bool was_woken();
// The same as was_woken() after a look that found jobs: from here on no other process counts on
// this executor, which will be busy.
bool end_executor_look();

}  // namespace hipq::executors
