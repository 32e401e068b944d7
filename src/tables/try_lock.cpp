// Takes locks for changes of tables without making other processes wait, and finds the processes
// that stand in the way.
#include "tables/try_lock.hpp"

#include "pg/compat.hpp"
#include "shared/databases/quiesce.hpp"
#include "shared/executors/executor_slots.hpp"

extern "C" {
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/sinvaladt.h"
}

namespace hipq::tables {

namespace {

using Clock = std::chrono::steady_clock;

constexpr long pause_milliseconds = 1;
// If quiescing did not help, because a job that has read the tables runs for longer than executors
// may stand still, the next attempt comes after one second, then two, four and so on.
constexpr std::chrono::seconds longest_rest{64};

constinit Clock::time_point next_quiesce{};
constinit std::chrono::seconds rest{1};

enum class Blockers : unsigned char { none, executors, others };

std::int64_t microseconds_since(Clock::time_point begin)
{
    return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
}

// Call inside pg::call() only.
Blockers blockers_of(const WantedLock &wanted)
{
    LOCKTAG tag;
    SET_LOCKTAG_RELATION(tag, MyDatabaseId, wanted.relation);
    int count = 0;
    VirtualTransactionId *holders = ::GetLockConflicts(&tag, wanted.mode, &count);
    Blockers blockers = Blockers::none;
    for (int i = 0; i < count && blockers != Blockers::others; ++i) {
        const bool is_process = pg::has_process(holders[i]);  // false: a prepared transaction
        const PGPROC *process = is_process ? pg::process_of(holders[i]) : nullptr;
        if (!is_process ||
            (process != nullptr && !executors::is_executor(MyDatabaseId, pg::number_of(process))))
            blockers = Blockers::others;
        else if (process != nullptr)
            blockers = Blockers::executors;
    }
    ::pfree(holders);
    return blockers;
}

Blockers blockers_of(const std::vector<WantedLock> &locks)
{
    return pg::call([&] {
        Blockers blockers = Blockers::none;
        for (std::size_t i = 0; i < locks.size() && blockers != Blockers::others; ++i)
            blockers = std::max(blockers, blockers_of(locks[i]));
        return blockers;
    });
}

// Call inside pg::call() only.
void give_back(const std::vector<WantedLock> &locks, std::size_t count)
{
    while (count-- > 0)
        ::UnlockRelationOid(locks[count].relation, locks[count].mode);
}

// Takes all locks or none.
bool try_all(const std::vector<WantedLock> &locks)
{
    return pg::call([&] {
        std::size_t taken = 0;
        while (taken < locks.size() &&
               ::ConditionalLockRelationOid(locks[taken].relation, locks[taken].mode))
            ++taken;
        if (taken == locks.size())
            return true;
        give_back(locks, taken);
        return false;
    });
}

// Quiesces executors for one change: at most once, until the change ends.
class Quiesce {
public:
    Quiesce() = default;
    ~Quiesce()
    {
        if (begun_)
            databases::end_quiesce(MyDatabaseId);
    }
    Quiesce(const Quiesce &) = delete;
    Quiesce &operator=(const Quiesce &) = delete;

    bool begun() const { return begun_; }
    void begin()
    {
        if (!begun_)
            begun_ = databases::begin_quiesce(MyDatabaseId);
    }
    void was_in_vain() const
    {
        if (!begun_)
            return;
        next_quiesce = Clock::now() + rest;
        rest = std::min(2 * rest, longest_rest);
    }
    void was_of_use() const
    {
        if (begun_)
            rest = std::chrono::seconds(1);
    }

private:
    bool begun_ = false;
};

bool may_quiesce(const Patience &patience)
{
    return patience.suffices_to_quiesce() && Clock::now() >= next_quiesce;
}

bool take(const std::vector<WantedLock> &locks, Patience &patience, Quiesce &quiesce)
{
    for (;;) {
        const Blockers blockers = blockers_of(locks);
        if (blockers == Blockers::none && try_all(locks)) {
            quiesce.was_of_use();
            return true;
        }
        if (blockers == Blockers::executors && may_quiesce(patience))
            quiesce.begin();
        // While executors stand still for this change, it takes precedence over other work.
        if (!patience.pause(!quiesce.begun())) {
            quiesce.was_in_vain();
            return false;
        }
    }
}

// Waits until only processes that can be quiesced stand in the way. Returns false if others still
// do.
bool may_be_had(const std::vector<WantedLock> &locks, Patience &patience)
{
    for (;;) {
        const Blockers blockers = blockers_of(locks);
        if (blockers == Blockers::none ||
            (blockers == Blockers::executors && may_quiesce(patience)))
            return true;
        if (!patience.pause(true))
            return false;
    }
}

void begin_change()
{
    pg::start_transaction();
    pg::call([] {
        for (const auto &[name, value] :
             {std::pair{"lock_timeout", "1"},  // ms; for locks that are not in the list
              std::pair{"synchronous_commit", "off"}})
            (void)::set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL,
                                      true, 0, false);
    });
}

void report_change(std::int64_t trying, std::int64_t held)
{
    pg::call([&] {
        ereport(DEBUG1, errmsg_internal(
                            "hipq changed its tables: %lld us to get the locks, %lld us under them",
                            static_cast<long long>(trying), static_cast<long long>(held)));
    });
}

// Returns false, which the caller returns in turn.
bool end_without_change(bool is_prepared)
{
    if (is_prepared)
        pg::abort_transaction();
    else
        pg::commit_transaction();  // an empty transaction: a rollback would be counted
    return false;
}

// Expects an open transaction, and ends it.
bool take_and_change(const std::vector<WantedLock> &locks, Patience &patience, ChangeStep prepare,
                     ChangeStep change)
{
    const bool prepares = prepare.run != nullptr;
    if (prepares && !may_be_had(locks, patience))
        return end_without_change(false);
    if (prepares)
        prepare.run(prepare.argument);
    Quiesce quiesce;
    const auto first_try = Clock::now();
    if (!take(locks, patience, quiesce))
        return end_without_change(prepares);
    const std::int64_t trying = microseconds_since(first_try);
    const auto begin = Clock::now();
    change.run(change.argument);
    pg::commit_transaction();
    report_change(trying, microseconds_since(begin));
    return true;
}

bool is_lock_not_to_be_had(const pg::Error &error)
{
    return error.sqlerrcode() == ERRCODE_LOCK_NOT_AVAILABLE ||
           error.sqlerrcode() == ERRCODE_T_R_DEADLOCK_DETECTED;
}

void report_unforeseen(const std::string &message)
{
    pg::call([&] {
        ereport(DEBUG1,
                errmsg_internal("hipq gave up a change of its tables: %s", message.c_str()));
    });
}

}  // namespace

std::vector<WantedLock> locks_to_drop(Oid table)
{
    static constinit pg::Statement select_parts(R"(
        WITH kept AS (SELECT relid::oid AS oid FROM pg_partition_tree($1)),
        stored AS (
            SELECT kept.oid FROM kept
            UNION ALL
            SELECT relation.reltoastrelid FROM pg_class AS relation JOIN kept USING (oid) WHERE relation.reltoastrelid <> 0
        )
        SELECT stored.oid FROM stored
        UNION ALL
        SELECT indexrelid FROM pg_index JOIN stored ON stored.oid = indrelid)");
    std::vector<WantedLock> locks;
    for (const pg::Row row : pg::as_extension_owner([&] { return select_parts.run(table); }))
        locks.push_back({row.oid(0), AccessExclusiveLock});
    return locks;
}

bool Patience::pause(bool until_woken)
{
    if (left_.count() <= 0)
        return false;
    const auto begin = Clock::now();
    const int latch = until_woken ? WL_LATCH_SET : 0;
    // The latch is not reset: it must still wake this process for its other work.
    const bool woken = pg::call([&] {
        const int events = ::WaitLatch(MyLatch, latch | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                                       pause_milliseconds, PG_WAIT_EXTENSION);
        CHECK_FOR_INTERRUPTS();
        return (events & WL_LATCH_SET) != 0;
    });
    left_ = woken ? std::chrono::microseconds(0)
                  : left_ - std::chrono::microseconds(microseconds_since(begin));
    return true;
}

bool change_if_unlocked(const std::vector<WantedLock> &locks, Patience &patience,
                        ChangeStep prepare, ChangeStep change)
{
    std::string unforeseen;
    try {
        begin_change();
        return take_and_change(locks, patience, prepare, change);
    } catch (const pg::Error &error) {
        pg::abort_transaction();
        if (!is_lock_not_to_be_had(error))
            throw;
        unforeseen = error.message();
    } catch (...) {
        pg::abort_transaction();
        throw;
    }
    report_unforeseen(unforeseen);
    return false;
}

}  // namespace hipq::tables
