// The executor that this process is: its slot, what it runs, when it leaves.
#pragma once

#include "shared/executors/executor_slots.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::executors {

// Takes the slot; false: not wanted any more. At exit the slot is freed, or marked orphaned when a
// job was in flight.
bool attach_executor(const ExecutorTicket &ticket);

int own_executor_index();  // of its slot; -1: this process is no executor
const ExecutorTicket &own_ticket();
ExecutorSlot *own_executor();  // null: this process is no executor. Needs the lock

// Says what runs from now on: before the claim commits, until announce_idle(). `first` tells what
// all of them have in common.
void announce_jobs(const memory::RunningJob &first, std::span<const memory::Attempt> attempts);
void announce_job(const memory::RunningJob &job);
// How it ended: finished jobs are gone; of others nobody knows whether they can be claimed again.
enum class Jobs : unsigned char { finished, unknown };
void announce_idle(Jobs outcome);

// A job that was chosen from the prefetched batch: announce_idle() lets go of it too, should it not
// come to be announced.
void note_chosen(std::int64_t job_id);

// Whether to leave: asked to, or another owner waits and this one is idle, or has had its turn and
// more than its share (shares.hpp).
bool should_leave(bool idle, pg::Time now);

// From now on it is to leave, as if somebody had asked it to.
void leave_soon();
// In a transaction of this session, which begins read-only, a job failed for that: jobs of this
// owner wait, and the next executor is started after a while.
void note_read_only(pg::Time now);

// From here on nobody counts on this executor's being woken; it looks for work once more before it
// goes.
void begin_leaving();

// Before a look for work: the turn ends, and the wake-ups so far are forgotten. After it: whether
// one came meanwhile, for work that the look may not have seen.
void begin_executor_look();
bool was_woken();
// The same when the look has found jobs: from here on nobody else counts on this executor, which
// will be busy.
bool end_executor_look();

}  // namespace hipq::executors
