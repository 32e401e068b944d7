// How executors are shared by weight, between the queues of an owner and between owners: the
// accounts of core/limits/fair_share.hpp, and the owners that wait for an executor. Accounts do not
// survive a restart of the server; then all start equal.
#pragma once

#include "core/limits/fair_share.hpp"
#include "shared/executors/executor_table.hpp"

namespace hipq::executors {

// Executor
// ----------------------------------------------------------------------------------------------

// A queue of this executor's owner with due jobs.
struct QueueInTurn {
    int queue_id;
    std::int64_t weight;
    core::VirtualTime standing = 0;  // the queue with the least comes first
};

// Fills in the standing of each queue.
void look_up_job_statuses(std::span<QueueInTurn> queues);

// The first of the queues gives this executor a prefetched batch of about that many microseconds of
// work; the other queues could have had the turn too. end_turn() ends the turn.
void begin_turn(std::span<const QueueInTurn> queues, std::int64_t microseconds_expected);

// This executor's owner has no due jobs.
void note_nothing_due();

// The functions below need the lock
// ----------------------------------------------------------------------------------------------

// Ends the turn when the prefetched batch is done or the executor exits: charges the time that it
// took. Does nothing if there is no turn.
void end_turn(ExecutorSlot &slot);

// Records that an owner has work and wants that many more executors, for queues of that total
// weight. Returns since when the owner has had no executor; infinity: it has one.
pg::Time want_more(Oid database, Oid role, int executors, std::int64_t weight);
// The owner has no work for executors.
void want_nothing(Oid database, Oid role);

bool somebody_waits();

// next_to_serve() returns the owner that gets the next executor, or null if no owner waits that
// could get one. served() records that the owner got it.
OwnerShare *next_to_serve();
void served(OwnerShare &owner);

// An owner that waits and has no executor at all, or null.
const OwnerShare *first_without_executor();

// Whether an owner waits in whose favour this executor should leave.
bool gives_way(const ExecutorSlot &slot, bool idle, pg::Time now);

// Forgets the accounts of a database that was dropped.
void forget_shares(Oid database);

}  // namespace hipq::executors
