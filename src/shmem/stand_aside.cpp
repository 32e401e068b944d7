// The marks, and who may take them away.
#include "stand_aside.hpp"

#include <csignal>

#include "shmem/alerts.hpp"
#include "shmem/crash_cases.hpp"
#include "shmem/databases.hpp"
#include "shmem/decisions.hpp"
#include "shmem/ends.hpp"
#include "shmem/executors.hpp"
#include "shmem/external_jobs.hpp"
#include "shmem/lanes.hpp"
#include "shmem/shares.hpp"
#include "shmem/start_failures.hpp"
#include "shmem/workers.hpp"

namespace hipq::shmem {

namespace {

// A mark that this process has made.
struct Held {
    int mark;
    Oid database;
    SubTransactionId subtransaction;
    Afterwards afterwards;
};

constexpr std::size_t max_held = 8;
constinit std::array<Held, max_held> held{};
constinit std::size_t held_count = 0;

// A mark counts while the process that made it lives: its transaction callbacks remove it, but a mark that outlived its maker
// would keep a database's jobs waiting for ever. Needs the lock.
bool is_valid(const StandAside &mark)
{
    return mark.database != InvalidOid && ProcGlobal->allProcs[mark.process].pid == mark.pid;
}

bool holds_mark_of(Oid database)
{
    return std::any_of(held.begin(), held.begin() + held_count, [&](const Held &own) { return own.database == database; });
}

// The number of a new mark; -1 without room. Needs the lock.
int place_mark(Oid database)
{
    for (int i = 0; i < max_marks; ++i) {
        StandAside &mark = registry()->marks[i];
        if (is_valid(mark))
            continue;
        mark = StandAside{database, MyProc->pgprocno, MyProcPid};
        return i;
    }
    return -1;
}

bool is_worker_in(const DatabaseSlot &slot, Oid database)
{
    return slot.database == database && slot.process != no_process;
}

bool is_worker_in(const ExecutorSlot &slot, Oid database)
{
    return slot.database == database && slot.process != no_process && slot.pid != MyProcPid;
}

// A process gives its slot back before it gives its PGPROC back, so under the lock the pid is still its own. Needs the lock.
void end_process(int process)
{
    const int pid = ProcGlobal->allProcs[process].pid;
    if (pid != 0)
        ::kill(pid, SIGTERM);
}

// Needs the lock.
void end_workers(Oid database)
{
    for (const DatabaseSlot &slot : registry()->databases)
        if (is_worker_in(slot, database))
            end_process(slot.process);
    for (ExecutorSlot &slot : executor_slots()) {
        if (is_worker_in(slot, database))
            end_process(slot.process);
        else if (slot.database == database && slot.state == ExecutorState::requested)
            free_executor_slot(slot);
    }
}

void remove_mark(const Held &own)
{
    const Lock lock(LW_EXCLUSIVE);
    registry()->marks[own.mark] = StandAside{};
    wake_process(registry()->launcher);
}

void end_mark(const Held &own, bool committed)
{
    if (committed && own.afterwards == Afterwards::forget)
        forget_database(own.database);
    remove_mark(own);
    if (committed && own.afterwards == Afterwards::look_again)
        database_changed(own.database);
    // The extension may have been made anew in the same transaction.
    if (committed && own.afterwards == Afterwards::forget && own.database == MyDatabaseId)
        database_changed(own.database);
}

void end_marks(bool committed)
{
    for (std::size_t i = 0; i < held_count; ++i)
        end_mark(held[i], committed);
    held_count = 0;
}

extern "C" void hipq_marks_transaction_ends(XactEvent event, void *)
{
    if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
        end_marks(false);
}

// After a commit the workers come back when the locks are gone that they would wait for; see wake.cpp.
extern "C" void hipq_marks_locks_released(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *)
{
    if (phase == RESOURCE_RELEASE_AFTER_LOCKS && is_commit && is_top_level)
        end_marks(true);
}

extern "C" void hipq_marks_subtransaction_ends(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *)
{
    for (std::size_t i = held_count; i > 0; --i) {
        Held &own = held[i - 1];
        if (own.subtransaction != id)
            continue;
        if (event == SUBXACT_EVENT_COMMIT_SUB) {
            own.subtransaction = parent;
        } else if (event == SUBXACT_EVENT_ABORT_SUB) {
            end_mark(own, false);
            own = held[--held_count];
        }
    }
}

}  // namespace

void stand_aside(Oid database, Afterwards afterwards)
{
    const SubTransactionId subtransaction = ::GetCurrentSubTransactionId();
    const Lock lock(LW_EXCLUSIVE);
    if (held_count < max_held && !holds_mark_of(database)) {
        const int mark = place_mark(database);
        if (mark < 0)
            note_alert(Alert::marks_full);
        else
            held[held_count++] = Held{mark, database, subtransaction, afterwards};
    }
    end_workers(database);
}

bool has_workers(Oid database)
{
    const Lock lock(LW_SHARED);
    const auto is_here = [&](const auto &slot) { return is_worker_in(slot, database); };
    return std::any_of(std::begin(registry()->databases), std::end(registry()->databases), is_here) ||
           std::any_of(executor_slots().begin(), executor_slots().end(), is_here);
}

bool stands_aside(Oid database)
{
    return std::any_of(std::begin(registry()->marks), std::end(registry()->marks),
                       [&](const StandAside &mark) { return mark.database == database && is_valid(mark); });
}

void announce_departure()
{
    ::ConditionVariableBroadcast(&registry()->departure);
}

void wait_for_departure(std::int64_t microseconds)
{
    pg::call([&] {
        (void)::ConditionVariableTimedSleep(&registry()->departure, static_cast<long>((microseconds + 999) / 1000),
                                            PG_WAIT_EXTENSION);
    });
}

void end_wait_for_departure()
{
    ::ConditionVariableCancelSleep();
}

void forget_database(Oid database) noexcept
{
    const Lock lock(LW_EXCLUSIVE);
    forget_failed_starts(database);
    forget_shares(database);
    forget_crash_cases(database);
    forget_decisions(database);
    forget_ends(database);
    for (ExecutorSlot &slot : executor_slots())
        if (slot.database == database && (slot.state == ExecutorState::requested || slot.state == ExecutorState::orphaned))
            free_executor_slot(slot);
    for (DatabaseSlot &slot : registry()->databases)
        if (slot.database == database && slot.process == no_process)
            slot.database = InvalidOid;  // whoever is about to start there finds that the slot is not his any more
    forget_lanes(database);
    forget_external_jobs(database);
    forget_workers(database);
}

void watch_marks()
{
    ::RegisterXactCallback(hipq_marks_transaction_ends, nullptr);
    ::RegisterResourceReleaseCallback(hipq_marks_locks_released, nullptr);
    ::RegisterSubXactCallback(hipq_marks_subtransaction_ends, nullptr);
}

}  // namespace hipq::shmem
