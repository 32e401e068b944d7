// What to do when a transaction that makes or drops queues finds no room for its locks.
#pragma once

#include "pg/guard.hpp"

namespace hipq::admin {

// Raises anew an error that `error` is, with a hint that says what somebody can do who makes or
// drops many queues at once if it is for want of room for locks.
[[noreturn]] void raise_with_hint_on_locks(const char *doing, const pg::Error &error);

// Calls `change`. Each queue has its tables and indexes locked until the transaction ends:
// PostgreSQL's "out of shared memory" (53200) is raised as an error that says so. `doing`: "makes
// queues", "drops queues". Raises what `change` raises.
template <class Change>
void with_hint_on_locks(const char *doing, const Change &change)
{
    std::optional<pg::Error> failure;
    try {
        change();
        return;
    } catch (const pg::Error &error) {
        failure = error;
    }
    raise_with_hint_on_locks(doing, *failure);
}

}  // namespace hipq::admin
