// Locks on tables that others use all the time, for a change of those tables, taken without making
// anybody wait for them.
//
// A process that waits for a lock makes everybody wait who comes later and wants one that
// conflicts. So nothing here waits for a lock: each is taken only when nobody holds one against it,
// also those that the change itself would come to need.
#pragma once

#include <chrono>

#include "pg/transaction.hpp"

namespace hipq::tables {

struct WantedLock {
    Oid relation;
    LOCKMODE mode;
};

// What DROP TABLE locks of a table or of a whole tree: the tables, their TOAST tables, the indexes
// of both. (Of a partition it locks the parent and the parent's default partition besides.) Needs a
// transaction.
std::vector<WantedLock> locks_to_drop(Oid table);

// How long one pass of maintenance may be at tries for locks, all its steps together: 100 ms, and
// no longer than until this process has other work to do (its latch is set). When that is used up,
// each further step is tried once.
class Patience {
public:
    // Waits for a millisecond before the next try. False: the patience is at an end, there shall be
    // none.
    bool pause(bool until_woken);
    // Whether enough is left for a quiet moment to be of use: a shorter one would stop executors
    // for nothing.
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

// Makes a change in a transaction of its own, once all the locks are to be had. `prepare` runs
// before they are held, and only when it looks as if they will be; `change` while they are held, so
// it is to be short. False: somebody holds a lock against them, or the change wanted one that was
// not foreseen; nothing was done. Raises what the two raise. The commit waits for no standby, and
// for the disk only when files are removed.
//
// If it is executors of this database alone that stand in the way, they are asked not to start a
// next job for that moment (shared/databases/quiesce.hpp). For the scheduler: no transaction open.
bool change_if_unlocked(const std::vector<WantedLock> &locks, Patience &patience,
                        ChangeStep prepare, ChangeStep change);

template <class Change>
bool with_conditional_locks(const std::vector<WantedLock> &locks, Patience &patience,
                            const Change &change)
{
    return change_if_unlocked(locks, patience, {}, change_step(change));
}

template <class Prepare, class Change>
bool with_conditional_locks(const std::vector<WantedLock> &locks, Patience &patience,
                            const Prepare &prepare, const Change &change)
{
    return change_if_unlocked(locks, patience, change_step(prepare), change_step(change));
}

}  // namespace hipq::tables
