// Takes locks on busy tables, for a change of those tables, without making other processes wait.
//
// A process that waits for a lock also blocks every later process that wants a conflicting lock. So
// this code never waits: it takes each lock only when no process holds a conflicting one, including
// the locks that the change itself would need later.
#pragma once

#include <chrono>

#include "pg/transaction.hpp"

namespace hipq::tables {

struct WantedLock {
    Oid relation;
    LOCKMODE mode;
};

// The locks that DROP TABLE takes on a table or on a whole tree: the tables, their TOAST tables,
// and the indexes of both. (For a partition it also locks the parent and the parent's default
// partition.) Needs a transaction.
std::vector<WantedLock> locks_to_drop(Oid table);

// How long one pass of maintenance may try to get locks, all its steps together: 100 ms, and only
// until this process has other work (its latch is set). After that, each further step is tried
// once.
class Patience {
public:
    // Waits for a millisecond before the next try. Returns false if the time is used up: there is
    // no next try.
    bool pause(bool until_woken);
    // Whether enough time is left to quiesce executors; a shorter time would stop them for nothing.
    bool suffices_to_quiesce() const { return left_ >= longest / 2; }

private:
    static constexpr std::chrono::microseconds longest = std::chrono::milliseconds(100);
    std::chrono::microseconds left_ = longest;
};

struct ChangeStep {
    void (*run)(const void *) = nullptr;  // null: nothing to do
    const void *argument = nullptr;
};

template <class Function>
ChangeStep change_step(const Function &fn)
{
    return {[](const void *argument) { (*static_cast<const Function *>(argument))(); }, &fn};
}

// Runs a change in a transaction of its own, once all locks can be taken. `prepare` runs before
// they are taken, and only if it looks as if they can be. `change` runs while they are held, so it
// must be short. Returns false, with nothing done, if another process holds a conflicting lock or
// the change needed a lock that is not in the list. Raises what the two functions raise. The commit
// waits for no standby, and for the disk only if files are removed.
//
// If only executors of this database stand in the way, they are quiesced
// (shared/databases/quiesce.hpp). For the scheduler; no transaction may be open.
[[nodiscard]] bool change_if_unlocked(const std::vector<WantedLock> &locks, Patience &patience,
                                      ChangeStep prepare, ChangeStep change);

template <class Change>
[[nodiscard]] bool with_conditional_locks(const std::vector<WantedLock> &locks, Patience &patience,
                                          const Change &change)
{
    return change_if_unlocked(locks, patience, {}, change_step(change));
}

template <class Prepare, class Change>
[[nodiscard]] bool with_conditional_locks(const std::vector<WantedLock> &locks, Patience &patience,
                                          const Prepare &prepare, const Change &change)
{
    return change_if_unlocked(locks, patience, change_step(prepare), change_step(change));
}

}  // namespace hipq::tables
