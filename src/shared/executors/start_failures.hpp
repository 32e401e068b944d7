// Queue owners for whom no executor is started: a condition is not met, or the last ones failed to
// start. Each failure in a row makes the next try wait longer, so that a role that cannot connect
// for whatever reason costs a process every ten seconds and no more.
#pragma once

namespace hipq::executors {

// Whether the last session of a queue owner that ran jobs began its transactions read-only, and a
// job failed for that.
bool is_read_only(Oid database, Oid role);

// The scheduler's word on the conditions of a queue owner: commits ask for executors without
// looking at them.
void refuse_starts(Oid database, Oid role, bool refused);

// When an executor of a queue owner may be started after failures; nothing: now.
std::optional<pg::Time> next_try(Oid database, Oid role, pg::Time now);

// The rest needs the lock.

bool may_start(Oid database, Oid role, pg::Time now);
// Returns when the next one may be started.
pg::Time note_failed_start(Oid database, Oid role, pg::Time now);
// Jobs fail in sessions of this owner, as they begin read-only: counts as a failed start.
void note_read_only_session(Oid database, Oid role, pg::Time now);
// One has started; `begins_read_only`: so does its session.
void note_start(Oid database, Oid role, bool begins_read_only);
void forget_failed_starts(Oid database);

}  // namespace hipq::executors
