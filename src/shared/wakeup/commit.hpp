// Wakes workers when a transaction that made jobs claimable commits; nobody when it does not.
#pragma once

#include "shared/lanes/lane_table.hpp"

namespace hipq::wakeup {

// Notes that the current transaction makes a job claimable: it stands in that lane under that key.
// Cheap; called for each row, before it is written. The queue owner is whose share of the lanes a
// new one counts to; InvalidOid: it is not known.
void note_lane_key(const lanes::LaneName &lane, core::LaneKey key, Oid owner);

// The same for whoever has to be woken: a job of this queue owner is due from `due` until
// `expires`.
void note_waiting(Oid owner, pg::Time due, pg::Time expires);

// The same of a job that is for external workers: the scheduler gives it to one.
void note_waiting_for_worker(pg::Time due, pg::Time expires);

// Notes that the current transaction enqueues a job for one worker (job/aimed_jobs.hpp).
void note_aimed_job();

// Notes that the current transaction ends a job. Cheap.
void note_end(std::int64_t job_id) noexcept;

// Notes that the scheduler has to look at what the current transaction has done.
void note_look() noexcept;

// Notes that the current transaction, or what it stands for, makes jobs claimable that nobody knows
// (COMMIT PREPARED).
void note_unknown_jobs();

// Notes that the current transaction resumes a throttle key: jobs of that queue that claimers have
// passed over may be claimed.
void note_resumed_key(int queue_id);

// Notes that the current transaction changes what the scheduler decides by (queues, job types,
// pauses, hold).
void note_catalogue_change();

// Notes that the current transaction changes this node's shares of limits.
void note_shares() noexcept;

// Notes that the current transaction gives ids to jobs of an instance on several servers, or sends
// jobs to others. They are to hear of this one within that time (shards/alive.cpp). Cheap.
inline constexpr std::int64_t sign_interval = 5'000'000;  // us
void note_sign() noexcept;

// Notes that the current transaction changes the time zone of a job type: time windows of its jobs
// open at other times.
void note_change_of_zone();

// Notes that the current transaction loads what a restore does, or says that it counts: there may
// be jobs in the middle of an attempt that nobody has in flight.
void note_restore();

// Notes that the current transaction changes what roles may do: a queue owner may be let in.
void note_change_of_rights();

// Notes that the current transaction may open another database.
void note_change_of_database(Oid database);

// Registers the commit callback; called once by _PG_init. PostgreSQL regime.
void watch_commits();

}  // namespace hipq::wakeup
