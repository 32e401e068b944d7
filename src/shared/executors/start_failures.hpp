// Queue owners for whom no executor is started, because a condition is not met or because the last
// starts failed. Each failure in a row increases the delay, so that a role that cannot connect
// costs at most one process every ten seconds.
#pragma once

#include "pg/clock.hpp"

#include <optional>

namespace hipq::executors {

// Whether the last session that ran jobs of a queue owner began its transactions read-only, and a
// job failed because of that.
bool is_read_only(Oid database, Oid role);

// The scheduler sets whether the conditions of a queue owner forbid a start, because commits
// request executors without checking the conditions.
void refuse_starts(Oid database, Oid role, bool refused);

// When, after failures, the next executor of a queue owner may be started; nothing: now.
std::optional<pg::Time> next_try(Oid database, Oid role, pg::Time now);

// The functions below need the lock.

bool may_start(Oid database, Oid role, pg::Time now);
// Returns when the next executor may be started.
pg::Time note_failed_start(Oid database, Oid role, pg::Time now);
// Jobs fail in sessions of this owner because the sessions begin read-only: counts as a failed
// start.
void note_read_only_session(Oid database, Oid role, pg::Time now);
// An executor has started; `begins_read_only`: its session begins transactions read-only.
void note_start(Oid database, Oid role, bool begins_read_only);
void forget_failed_starts(Oid database);

}  // namespace hipq::executors
