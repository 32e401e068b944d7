// Starts a background process for each vacuum of a live leaf.
//
// A vacuum takes seconds, and the scheduler is needed meanwhile, so each vacuum gets its own
// worker. The worker ends with its scheduler.
#include "server/vacuum.hpp"

#include "pg/compat.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"

extern "C" {
#include "commands/vacuum.h"
#include "storage/lmgr.h"
}

namespace hipq::server {

namespace {

using catalog::Queue;
using core::VacuumNeed;

constexpr std::int64_t shortly = 1'000'000;  // us

// A process reports its statistics at most a minute after the work.
constexpr std::int64_t statistics_delay = 70'000'000;  // us

// One at a time; null: none.
constinit BackgroundWorkerHandle *running = nullptr;

struct VacuumTicket {
    Oid database;
    Oid leaf;
};

// The state of one leaf.
struct Leaf {
    Oid oid;
    core::LeafUse use;
    TransactionId horizon;
};

pg::Time real_now()
{
    return pg::Time{::GetCurrentTimestamp()};
}

Leaf leaf_of(const Queue &queue)
{
    const Oid oid = catalog::live_leaf(queue);
    return pg::call([&] {
        Leaf leaf{oid, {0, 0}, InvalidTransactionId};
        const PgStat_StatTabEntry *statistics =
            OidIsValid(oid) ? ::pgstat_fetch_stat_tabentry(oid) : nullptr;
        if (statistics == nullptr || !::ConditionalLockRelationOid(oid, AccessShareLock))
            return leaf;
        Relation relation = ::try_relation_open(oid, NoLock);
        if (relation == nullptr)
            return leaf;
        leaf.use = {pg::live_tuples(*statistics), pg::dead_tuples(*statistics)};
        leaf.horizon = ::GetOldestNonRemovableTransactionId(relation);
        ::relation_close(relation, AccessShareLock);
        return leaf;
    });
}

extern "C" void hipq_end_vacuum(int, Datum)
{
    if (running != nullptr)
        ::TerminateBackgroundWorker(running);
}

// Returns whether a vacuum is still running.
bool is_running(Vacuums &vacuums)
{
    if (running == nullptr)
        return false;
    pid_t pid = 0;
    const BgwHandleStatus status =
        pg::call([&] { return ::GetBackgroundWorkerPid(running, &pid); });
    if (status != BGWH_STOPPED)
        return true;
    const pg::Time now = real_now();
    vacuums.last[vacuums.queue_id].ended = now.value;
    vacuums.last[vacuums.queue_id].duration = now.value - vacuums.started.value;
    pg::call([&] { ::pfree(running); });
    running = nullptr;
    return false;
}

void start(Vacuums &vacuums, const Queue &queue, const Leaf &leaf)
{
    const VacuumTicket ticket{MyDatabaseId, leaf.oid};
    const std::string name = "hipq vacuum of " + queue.full_name();
    MemoryContext before = ::MemoryContextSwitchTo(TopMemoryContext);
    const bool started = process::start_worker(
        {name.c_str(), "hipq vacuum", "hipq_vacuum_main", &ticket, sizeof(ticket)}, &running);
    ::MemoryContextSwitchTo(before);
    if (!started)
        running = nullptr;
    vacuums.queue_id = queue.id;
    vacuums.started = real_now();
    vacuums.last[queue.id].horizon = leaf.horizon;
}

// Call inside pg::call() only. Vacuums as autovacuum does.
void vacuum_leaf(Oid leaf)
{
    PortalContext = AllocSetContextCreate(TopMemoryContext, "hipq vacuum", ALLOCSET_DEFAULT_SIZES);
    VacuumParams parameters{};
    parameters.options =
        VACOPT_VACUUM | VACOPT_SKIP_LOCKED | pg::vacuum_main | VACOPT_PROCESS_TOAST;
    parameters.freeze_min_age = -1;
    parameters.freeze_table_age = -1;
    parameters.multixact_freeze_min_age = -1;
    parameters.multixact_freeze_table_age = -1;
    parameters.index_cleanup = VACOPTVALUE_UNSPECIFIED;
    parameters.truncate = VACOPTVALUE_DISABLED;
    parameters.nworkers = -1;
    ::StartTransactionCommand();
    MemoryContext before = ::MemoryContextSwitchTo(PortalContext);
    List *relations = list_make1(::makeVacuumRelation(nullptr, leaf, NIL));
    pg::run_vacuum(relations, parameters, PortalContext);
    ::MemoryContextSwitchTo(before);
    ::CommitTransactionCommand();
    (void)::pgstat_report_stat(true);
}

void run_vacuum()
{
    const auto ticket = process::read_extra<VacuumTicket>();
    process::install_signal_handlers();
    process::connect(ticket.database);
    process::pin_settings();
    pg::call([] {
        ::SetConfigOption("lock_timeout", "1s", PGC_SUSET, PGC_S_OVERRIDE);
    });  // an index may be locked on its own
    process::show_activity("hipq vacuums a live leaf");
    pg::call([&] { vacuum_leaf(ticket.leaf); });
}

void watch(Vacuums &vacuums, const std::vector<int> &touched, pg::Time now)
{
    for (const int id : touched)
        vacuums.watched[id].until = now + statistics_delay;
}

// Returns after how many microseconds to look at it again; nothing: not before more work is done
// there.
std::optional<std::int64_t> look_after(Vacuums &vacuums, const Queue &queue,
                                       Vacuums::Watched &watched, pg::Time now)
{
    const Leaf leaf = leaf_of(queue);
    const bool has_changed = std::exchange(watched.dead, leaf.use.dead) != leaf.use.dead;
    if (has_changed)
        watched.until = std::max(watched.until, now + statistics_delay);
    switch (core::vacuum_need(leaf.use, vacuums.last[queue.id], leaf.horizon, now.value)) {
    case VacuumNeed::none:
        return has_changed ? std::optional(shortly) : std::nullopt;
    case VacuumNeed::blocked:
        watched.until = now + statistics_delay;
        return has_changed ? shortly : process::longest_wait;
    case VacuumNeed::now:
        if (running == nullptr)
            start(vacuums, queue, leaf);
        [[fallthrough]];
    case VacuumNeed::later:
        watched.until = now + statistics_delay;
    }
    return shortly;
}

// Forgets leaves in which there is nothing to do.
void forget_quiet_leaves(Vacuums &vacuums, const catalog::Catalogue &catalogue, pg::Time now)
{
    std::erase_if(vacuums.watched, [&](const auto &entry) {
        const Queue *queue = catalogue.find(entry.first);
        const bool is_quiet = queue == nullptr || queue->is_dropped || entry.second.until <= now;
        if (is_quiet)
            vacuums.last.erase(entry.first);
        return is_quiet;
    });
}

}  // namespace

std::optional<std::int64_t> look_after_leaves(Vacuums &vacuums, const catalog::Catalogue &catalogue,
                                              const std::vector<int> &touched, bool somebody_works)
{
    static constinit bool is_prepared = false;
    if (!std::exchange(is_prepared, true))
        pg::call([&] { ::before_shmem_exit(hipq_end_vacuum, Datum{0}); });
    const pg::Time now = real_now();
    watch(vacuums, touched, now);
    if (is_running(vacuums))
        return shortly;
    if (now < vacuums.next_look && vacuums.next_look <= now + shortly)
        return vacuums.next_look.value - now.value;
    vacuums.next_look = now + shortly;
    std::optional<std::int64_t> next = somebody_works ? std::optional(shortly) : std::nullopt;
    process::do_duty(core::Duty::vacuum, nullptr, [&] {
        pg::with_transaction([&] {
            forget_quiet_leaves(vacuums, catalogue, now);
            for (auto &[id, watched] : vacuums.watched)
                if (const auto again = look_after(vacuums, *catalogue.find(id), watched, now))
                    next = std::min(next.value_or(*again), *again);
        });
    });
    return next;
}

}  // namespace hipq::server

HIPQ_WORKER_MAIN(hipq_vacuum_main)
{
    hipq::server::run_vacuum();
}
