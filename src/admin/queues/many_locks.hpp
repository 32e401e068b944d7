// Adds a hint to the error of a transaction that creates or drops queues and finds no room for its
// locks.
#pragma once

#include "pg/guard.hpp"

namespace hipq::admin {

// Raises `error` again. If it is about missing room for locks, adds a hint what to do when creating
// or dropping many queues at once.
[[noreturn]] void raise_with_hint_on_locks(const char *doing, const pg::Error &error);

// Calls `change`. Each queue has its tables and indexes locked until the transaction ends, so
// PostgreSQL's "out of shared memory" (53200) is replaced by an error that says so. `doing`: "makes
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
