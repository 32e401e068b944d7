// Ends hipq's processes in a database, and keeps them out until the command has ended.
#include "shared/executors/clear_database.hpp"

#include <csignal>

#include "pg/compat.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/databases/stand_aside.hpp"
#include "shared/executors/executor_slots.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::executors {

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

bool holds_mark_of(Oid database)
{
    return std::any_of(held.begin(), held.begin() + held_count,
                       [&](const Held &own) { return own.database == database; });
}

// Returns the number of a new mark, or -1 if there is no room.
int place_mark(Oid database)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    for (int i = 0; i < memory::max_marks; ++i) {
        memory::StandAside &mark = memory::registry()->marks[i];
        if (databases::is_valid(mark))
            continue;
        mark = memory::StandAside{database, pg::own_number(), MyProcPid};
        return i;
    }
    return -1;
}

bool is_worker_in(const memory::DatabaseSlot &slot, Oid database)
{
    return slot.database == database && slot.process != memory::no_process;
}

bool is_worker_in(const ExecutorSlot &slot, Oid database)
{
    return slot.database == database && slot.process != memory::no_process && slot.pid != MyProcPid;
}

// A process gives its slot back before it gives back its PGPROC, so under the lock the PGPROC still
// has its pid. Needs the lock.
void end_process(int process)
{
    const int pid = ProcGlobal->allProcs[process].pid;
    if (pid != 0)
        ::kill(pid, SIGTERM);
}

void end_scheduler(Oid database)
{
    const memory::Lock lock(LW_SHARED);
    for (const memory::DatabaseSlot &slot : memory::registry()->databases)
        if (is_worker_in(slot, database))
            end_process(slot.process);
}

// Needs the lock of executors.
void end_executors(Oid database)
{
    for (ExecutorSlot &slot : executor_slots()) {
        if (is_worker_in(slot, database))
            end_process(slot.process);
        else if (slot.database == database && slot.state == ExecutorState::requested)
            free_executor_slot(slot);
    }
}

void remove_mark(const Held &own)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::registry()->marks[own.mark] = memory::StandAside{};
    memory::wake_process(memory::registry()->launcher);
}

void end_mark(const Held &own, bool committed)
{
    if (committed && own.afterwards == Afterwards::forget)
        memory::forget_database(own.database);
    remove_mark(own);
    if (committed && own.afterwards == Afterwards::look_again)
        databases::database_changed(own.database);
    // The extension may have been created again in the same transaction.
    if (committed && own.afterwards == Afterwards::forget && own.database == MyDatabaseId)
        databases::database_changed(own.database);
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

// After a commit the processes come back only when the locks that they would wait for are released;
// see shared/wakeup/commit.cpp.
extern "C" void hipq_marks_locks_released(ResourceReleasePhase phase, bool is_commit,
                                          bool is_top_level, void *)
{
    if (phase == RESOURCE_RELEASE_AFTER_LOCKS && is_commit && is_top_level)
        end_marks(true);
}

extern "C" void hipq_marks_subtransaction_ends(SubXactEvent event, SubTransactionId id,
                                               SubTransactionId parent, void *)
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
    const ExecutorLock lock(LW_EXCLUSIVE);
    if (held_count < max_held && !holds_mark_of(database)) {
        const int mark = place_mark(database);
        if (mark < 0)
            memory::raise_alert(memory::Alert::marks_full);
        else
            held[held_count++] = Held{mark, database, subtransaction, afterwards};
    }
    end_scheduler(database);
    end_executors(database);
}

bool has_workers(Oid database)
{
    const ExecutorLock lock(LW_SHARED);
    const memory::Lock databases_lock(LW_SHARED);
    const auto is_here = [&](const auto &slot) { return is_worker_in(slot, database); };
    return std::any_of(std::begin(memory::registry()->databases),
                       std::end(memory::registry()->databases), is_here) ||
           std::any_of(executor_slots().begin(), executor_slots().end(), is_here);
}

void watch_marks()
{
    ::RegisterXactCallback(hipq_marks_transaction_ends, nullptr);
    ::RegisterResourceReleaseCallback(hipq_marks_locks_released, nullptr);
    ::RegisterSubXactCallback(hipq_marks_subtransaction_ends, nullptr);
}

}  // namespace hipq::executors
