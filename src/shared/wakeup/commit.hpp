// Wakes processes when a transaction that made jobs claimable commits; wakes none when it rolls
// back.
#pragma once

#include "core/lanes/pockets.hpp"
#include "shared/lanes/lane_table.hpp"

namespace hipq::wakeup {

// Notes that the current transaction makes a job claimable, at that key of that lane. Cheap; called
// for each row, before the row is written. A new lane counts against the share of `owner`, the
// queue owner; InvalidOid: unknown.
void note_lane_key(const lanes::LaneName &lane, core::LaneKey key, Oid owner);

// Notes which processes to wake for it: a job of this queue owner is due from `due` until
// `expires`.
void note_waiting(Oid owner, pg::Time due, pg::Time expires);

// The same for a job for external workers, which the scheduler offers to them.
void note_waiting_for_worker(pg::Time due, pg::Time expires);

// Notes that the current transaction enqueues an aimed job (job/aimed_jobs.hpp).
void note_aimed_job();

// Notes that the current transaction ends a job. Cheap. If other jobs wait for it, the scheduler
// hears of it: of a failure in any case, because jobs may wait for it that are watched by another
// job before them (flow/README.md).
enum class End : bool { success, failure };
void note_end(std::int64_t job_id, std::optional<std::int64_t> batch_id, End end);

// A look at a held job that goes on waiting.
struct HeldLook {
    std::int64_t job_id;
    std::uint32_t number;      // looks_at() before it
    std::uint32_t ended;       // jobs before it that this transaction ends
    std::uint32_t unfinished;  // jobs before it, apart from these
};

// Notes that the current transaction has itself released all jobs that wait for an end it noted, or
// has looked at them. `new_waits`: new_waits() before it looked for these. The end counts as
// settled only as long as this is the number, and others have not looked at a held job as often as
// it has unfinished jobs before it: all of these may have ended then.
void note_end_is_settled(std::int64_t job_id, std::uint32_t new_waits,
                         std::vector<HeldLook> looks) noexcept;

// Notes that the current transaction may let jobs wait, or end, without a report of each.
void note_unknown_waits() noexcept;

// Notes that the scheduler must look at the changes of the current transaction.
void note_look() noexcept;

// Notes that the current transaction makes something due at that time that is no job, such as the
// end of a pause: the scheduler must look then.
void note_look_at(pg::Time due) noexcept;

// Notes that the current transaction, or one that it ends (COMMIT PREPARED), makes jobs claimable
// at unknown places.
void note_unknown_jobs();

// Notes that the current transaction resumes a throttle key: jobs of that queue that claims have
// passed over may now be claimed.
void note_resumed_key(int queue_id);

// Notes that the current transaction changes the data on which the scheduler bases its decisions
// (queues, job types, pauses, hold).
void note_catalogue_change();

// Notes that the current transaction changes this node's shares of limits.
void note_shares() noexcept;

// Notes that the current transaction gives ids to jobs of an instance on several servers, or sends
// jobs to other nodes. This node must send them a sign of life within `sign_interval`
// (shards/alive.cpp). Cheap.
inline constexpr std::int64_t sign_interval = 5'000'000;  // us
void note_sign() noexcept;

// Notes that the current transaction changes the time zone of a job type: time windows of its jobs
// open at other times.
void note_change_of_zone();

// Notes that the current transaction loads data like a restore, or makes such data count: there may
// be jobs in the middle of an attempt that no process has in flight.
void note_restore();

// Notes that the current transaction changes the rights of roles: a queue owner may now be able to
// log in.
void note_change_of_rights();

// Notes that the current transaction may open another database.
void note_change_of_database(Oid database);

// Registers the commit callbacks. _PG_init calls it once; call inside pg::call() only.
void watch_commits();

}  // namespace hipq::wakeup
