// How executors are shared by weight, between the queues of an owner and between owners: the
// accounts of core/limits/fair_share.hpp, and who waits for an executor. None of it outlives the
// server: without it everybody begins anew with equal accounts.
#pragma once

#include "shared/executors/executor_table.hpp"

namespace hipq::executors {

// Executor
// ----------------------------------------------------------------------------------------------

// A queue of this executor's owner with due jobs.
struct QueueInTurn {
    int queue_id;
    std::int64_t weight;
    core::VirtualTime standing = 0;  // the least comes first
};

// Tells where each of them stands.
void look_up_job_statuses(std::span<QueueInTurn> queues);

// The first of the queues gives this executor a prefetched batch of about so many microseconds of
// work; the others could have had the turn, too. It ends with end_turn().
void begin_turn(std::span<const QueueInTurn> queues, std::int64_t microseconds_expected);

// This executor's owner has nothing due.
void note_nothing_due();

// The rest needs the lock
// ----------------------------------------------------------------------------------------------

// The prefetched batch is done, or the executor is: charges the time that it took. Nothing, if
// there is no turn.
void end_turn(ExecutorSlot &slot);

// An owner has work for its executors and wants so many more, for queues of that weight together.
// Returns since when it has none; infinity: it has one.
pg::Time want_more(Oid database, Oid role, int executors, std::int64_t weight);
// It has no work for any.
void want_nothing(Oid database, Oid role);

bool somebody_waits();

// Who is to be given the next executor; null: nobody waits who could be. Then that it has been.
OwnerShare *next_to_serve();
void served(OwnerShare &owner);

// One of those who wait and have no executor at all.
const OwnerShare *first_without_executor();

// Whether somebody waits in whose favour this executor should leave.
bool gives_way(const ExecutorSlot &slot, bool idle, pg::Time now);

// Of a database that is gone.
void forget_shares(Oid database);

}  // namespace hipq::executors
