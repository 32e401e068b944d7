// The scheduler: one per database with work. Decides what runs, sweeps, maintains the tables; runs
// no user code.
//
// It looks when a commit, a time or the end of a process requires it, and at least every 10 s while
// work is due. If nothing is due within a minute it exits, and the launcher remembers when to start
// it again.
#include "admin/admin.hpp"
#include "catalog/cache.hpp"
#include "catalog/identity.hpp"
#include "catalog/queue_hold.hpp"
#include "claim/claim.hpp"
#include "claim/conditions.hpp"
#include "execute/execute.hpp"
#include "external/external.hpp"
#include "flow/flow.hpp"
#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "pg/time_zone.hpp"
#include "process/process.hpp"
#include "recovery/recovery.hpp"
#include "server/hooks.hpp"
#include "server/maintenance.hpp"
#include "server/queue_look.hpp"
#include "server/queue_watch.hpp"
#include "server/stalls.hpp"
#include "server/vacuum.hpp"
#include "settings.hpp"
#include "shards/shards.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/databases/own_slot.hpp"
#include "shared/databases/scheduler_ticket.hpp"
#include "shared/executors/executor_slots.hpp"
#include "shared/executors/pending_decisions.hpp"
#include "shared/executors/prefetched.hpp"
#include "shared/executors/reserve.hpp"
#include "shared/executors/start_failures.hpp"
#include "shared/lanes/capacity.hpp"
#include "shared/workers/jobs.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::server {

namespace {

using catalog::Queue;
using core::Duty;

constexpr std::int64_t minute = 60'000'000;
constexpr std::int64_t idle_maintenance_interval = 60 * minute;

struct Scheduler {
    QueueWatch queues;
    Maintenance maintenance{};
    bool has_identity = false;
    std::shared_ptr<const catalog::Catalogue> catalogue{};  // of the last look
    TimestampTz settings_loaded = 0;                        // at the last look
    bool has_dropped_queues = false;
    std::vector<const Queue *> with_handlers{};  // queues of the catalogue, one of each owner
    pg::Time next_capacity_look{0};
    recovery::Recovery recovery{};
    recovery::TakingBack taking_back{};
    external::Dispatcher dispatcher{};
    flow::Waits waits{};
    claim::Audit audit{};
    Vacuums vacuums{};
    Stalls stalls{};
    shards::Shares shares{};
    pg::Time next_end_of_pause{0};
};

// ---- the database ----

void report_hold(const claim::Condition &condition)
{
    const std::string explanation = claim::explain(condition);
    pg::call([&] {
        ereport(
            LOG,
            errmsg("hipq holds the jobs of database \"%s\"", ::get_database_name(MyDatabaseId)),
            errdetail_internal("%s", explanation.c_str()),
            errhint(
                "If this database is the one that shall run them: SELECT hipq.release_hold()."));
    });
}

// Returns whether anything may run here at all.
bool is_open(Scheduler &scheduler)
{
    bool open = false;
    pg::with_transaction([&] {
        if (!claim::enabled_condition().passed())
            return;
        const claim::Condition hold = claim::hold_condition();
        open = hold.passed();
        if (!open)
            report_hold(hold);
        else if (!std::exchange(scheduler.has_identity, true)) {
            catalog::complete_identity();
            catalog::hold_all_fed_queues();
        }
    });
    return open;
}

// The result of one look.
struct Look {
    pg::Time now;
    pg::Time next_due = pg::infinity;

    void again_at(pg::Time due) { next_due = std::min(next_due, due); }
};

// Adds executors for retry decisions to those for jobs.
std::map<Oid, Wanted> wanted_executors(const Scheduler &scheduler)
{
    std::map<Oid, Wanted> all = scheduler.queues.wanted();
    for (const Oid owner : executors::roles_with_decisions(MyDatabaseId)) {
        Wanted &wanted = all[owner];
        wanted.executors += 1;
        wanted.weight = std::max<std::int64_t>(wanted.weight, core::default_queue_weight);
    }
    return all;
}

void ask_for_executors(Scheduler &scheduler, Look &look)
{
    for (const auto &[owner, wanted] : wanted_executors(scheduler)) {
        executors::want_executors(MyDatabaseId, owner,
                                  std::min(wanted.executors, settings::max_executors),
                                  wanted.weight, look.now);
        if (wanted.executors > 0)
            look.again_at(executors::next_try(MyDatabaseId, owner, look.now)
                              .value_or(look.now + process::longest_wait));
    }
    scheduler.queues.forget_content_owners();
}

// Limits may have been raised, and waiting claimers may be gone.
void ask_anew_for_capacity(Scheduler &scheduler, bool is_changed, pg::Time now)
{
    const bool was_set_back =
        scheduler.next_capacity_look > now + process::longest_wait;  // the clock was set back
    if (!is_changed && !was_set_back && now < scheduler.next_capacity_look)
        return;
    scheduler.next_capacity_look = now + process::longest_wait;
    lanes::forget_waiting_for_capacity();
}

// Jobs that workers left go back into their lanes before the next jobs are dispatched.
pg::Time serve_workers(Scheduler &scheduler, pg::Time now)
{
    const pg::Time next = recovery::reclaim(scheduler.taking_back);
    workers::keep_probe_clocks();
    const pg::Time next_dispatch = external::dispatch(scheduler.dispatcher);
    return std::min({next, next_dispatch, recovery::next_loss(now), external::forget_workers(now)});
}

bool runs_handlers(const Queue &queue)
{
    return queue.handles_dead_letters() || queue.type_facts().has_handlers;
}

// Returns one queue with handlers for each owner.
std::vector<const Queue *> owners_with_handlers(const catalog::Catalogue &catalogue)
{
    std::map<Oid, const Queue *> owners;
    for (const auto &[id, queue] : catalogue.queues)
        if (!queue.is_dropped && !owners.contains(queue.owner) && runs_handlers(queue))
            owners.emplace(queue.owner, &queue);
    std::vector<const Queue *> queues;
    queues.reserve(owners.size());
    for (const auto &[owner, queue] : owners)
        queues.push_back(queue);
    return queues;
}

// Counts owners that may come to need an executor.
int count_owners_who_can_run(const Scheduler &scheduler)
{
    std::ptrdiff_t count = 0;
    pg::with_transaction([&] {
        count = std::count_if(
            scheduler.with_handlers.begin(), scheduler.with_handlers.end(),
            [](const Queue *queue) { return claim::owner_condition(*queue).passed(); });
    });
    return static_cast<int>(count);
}

// Handles a catalogue that has changed since the last look.
void note_catalogue(Scheduler &scheduler)
{
    const catalog::Catalogue &catalogue = *scheduler.catalogue;
    recovery::forget_jobs_of_dropped_queues(catalogue);
    remove_lanes_of_dropped_queues();
    scheduler.with_handlers = owners_with_handlers(catalogue);
    scheduler.has_dropped_queues =
        std::any_of(catalogue.queues.begin(), catalogue.queues.end(),
                    [](const auto &entry) { return entry.second.is_dropped; });
}

void look_at_shards(const catalog::Catalogue &catalogue, Look &look)
{
    look.again_at(shards::return_jobs(catalogue));
    look.again_at(shards::send_last(catalogue));
    look.again_at(shards::look_at_held(catalogue));
    look.again_at(shards::send_stats(catalogue));
    look.again_at(shards::show_life(catalogue));
}

void look_at_queues(Scheduler &scheduler, Look &look)
{
    scheduler.queues.begin_look();
    const auto catalogue = recovery::read_catalogue();
    HIPQ_POINT("after-read-catalogue");
    const bool is_changed = std::exchange(scheduler.catalogue, catalogue) != catalogue;
    const bool is_reloaded = std::exchange(scheduler.settings_loaded, PgReloadTime) != PgReloadTime;
    ask_anew_for_capacity(scheduler, is_changed, look.now);
    if (is_changed) {
        note_catalogue(scheduler);
        shards::note_catalogue(scheduler.shares, catalogue);
        scheduler.next_end_of_pause = pg::Time{0};  // there may be another one
    }
    process::forget_duties(*catalogue);
    if (scheduler.next_end_of_pause <= look.now)
        scheduler.next_end_of_pause = admin::end_pauses(*catalogue, look.now);
    look.again_at(scheduler.next_end_of_pause);
    look.again_at(flow::look_at_waits(scheduler.waits, *catalogue));
    if (scheduler.shares.has_sharded)
        look_at_shards(*catalogue, look);
    look.again_at(external::give_up_waiting(*catalogue));
    scheduler.queues.look(catalogue, look.now, is_changed || is_reloaded);
    look.again_at(scheduler.queues.next_due());
}

Look look_around(Scheduler &scheduler)
{
    Look look{pg::now()};
    process::do_duty(Duty::dispatch, nullptr,
                     external::read_workers);  // before their jobs are found
    look.again_at(recovery::recover(scheduler.recovery));
    look.again_at(serve_workers(scheduler, look.now));
    const TimestampTz start = ::GetCurrentTimestamp();
    look_at_queues(scheduler, look);
    const catalog::Catalogue &catalogue = *scheduler.catalogue;
    const std::set<Oid> owners = scheduler.queues.owners_with_due_jobs();
    if (const auto delay = claim::audit(scheduler.audit, catalogue, look.now))
        look.again_at(look.now + *delay);
    if (const auto delay = look_after_leaves(scheduler.vacuums, catalogue,
                                             scheduler.queues.looked_at(), !owners.empty()))
        look.again_at(look.now + *delay);
    look.again_at(admin::look_after_entries(look.now));
    look.again_at(admin::look_after_runs(look.now));
    look.again_at(claim::save_breakers(catalogue));
    executors::note_queue_owners(count_owners_who_can_run(scheduler));
    HIPQ_POINT("before-ask-for-executors");
    ask_for_executors(scheduler, look);
    if (const auto delay = watch_for_stalls(scheduler.stalls, catalogue, owners))
        look.again_at(look.now + *delay);
    look.again_at(process::next_duty());
    scheduler.recovery.pause = ::GetCurrentTimestamp() - start;
    return look;
}

// ---- the loop ----

void report_versions(const claim::Condition &condition)
{
    const std::string explanation = claim::explain(condition);
    pg::call([&] {
        const char *database = ::get_database_name(MyDatabaseId);
        if (condition.passed())
            ereport(LOG,
                    errmsg("library and extension of hipq are of different versions in database "
                           "\"%s\"",
                           database),
                    errdetail_internal("%s", explanation.c_str()));
        else
            ereport(WARNING, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("hipq runs no jobs in database \"%s\"", database),
                    errdetail_internal("%s", explanation.c_str()));
    });
}

// Returns whether library and extension can work together. Logs it once if their versions differ.
// The versions change only while no worker runs.
bool is_right_version()
{
    bool right = false;
    pg::with_transaction([&] {
        const claim::Condition condition = claim::version_condition();
        right = condition.passed();
        if (condition.finding() != core::Finding::versions_agree)
            report_versions(condition);
    });
    return right;
}

// If a job for an external worker has arrived or a worker has room, there is no need to look at
// everything, unless a full look was requested too, as after a configuration change.
void dispatch_if_asked(Scheduler &scheduler)
{
    if (databases::next_look() <= pg::now() || !databases::was_asked_for_dispatch())
        return;
    process::show_activity("hipq scheduler dispatches");
    const pg::Time next_dispatch = external::dispatch(scheduler.dispatcher);
    const pg::Time next = std::min({next_dispatch, recovery::next_loss(pg::now()),
                                    external::give_up_waiting(*recovery::read_catalogue())});
    process::show_idle();
    if (next != pg::infinity)
        databases::look_due(MyDatabaseId, next);
}

// The same for jobs whose end other jobs wait for.
void look_at_waits_if_asked(Scheduler &scheduler)
{
    if (databases::next_look() <= pg::now() || !databases::was_asked_for_waits())
        return;
    process::show_activity("hipq scheduler looks at jobs that wait for others");
    const pg::Time next = flow::look_at_waits(scheduler.waits, *recovery::read_catalogue());
    process::show_idle();
    if (next != pg::infinity)
        databases::look_due(MyDatabaseId, next);
}

// Waits until a look is due. While executors have prefetched jobs it watches those in the meantime,
// in shared memory only; a request during that time may bring the look forward.
void rest(Scheduler &scheduler)
{
    constexpr std::int64_t prefetched_interval = 50'000;  // us
    const pg::Time latest = pg::now() + process::longest_wait;
    for (;;) {
        const bool watches = databases::watches_prefetched();
        if (watches &&
            executors::look_after_prefetched(pg::Time{::GetCurrentTimestamp()}).has_returned_jobs) {
            HIPQ_POINT("after-take-back");
            return;
        }
        dispatch_if_asked(scheduler);
        look_at_waits_if_asked(scheduler);
        const pg::Time next_shares = shards::keep_shares(scheduler.shares);
        const pg::Time now = pg::now();
        const std::int64_t left = std::min(databases::next_look(), latest).value - now.value;
        if (left <= 0)
            return;
        const std::int64_t left_of_all =
            std::min(watches ? std::min(left, prefetched_interval) : left,
                     std::max<std::int64_t>(next_shares.value - now.value, 0));
        process::wait_for_work(std::min(left_of_all, execute::stop_overdue(MyDatabaseId)));
        if (process::check_interrupts())
            return;  // the settings may have changed
    }
}

// One round: look, maintain, wait. Returns false if there is nothing to stay for.
bool work(Scheduler &scheduler)
{
    process::check_interrupts();
    databases::begin_look();
    execute::stop_overdue(MyDatabaseId);
    if (!is_open(scheduler)) {
        workers::note_all_served();  // nothing waits for a worker
        return !databases::leave_closed_database();
    }
    process::show_activity("hipq scheduler looks for work");
    Look look = look_around(scheduler);
    look.again_at(maintain(scheduler.maintenance, look.now,
                           {scheduler.queues.looked_at(), scheduler.queues.with_parked_keys(),
                            scheduler.has_dropped_queues}));
    process::show_idle();
    const pg::Time due =
        databases::end_look(std::min(look.next_due, look.now + idle_maintenance_interval));
    const pg::Time next_shares = shards::keep_shares(scheduler.shares);
    if (std::min(due, next_shares) > look.now + minute &&
        databases::leave_scheduler(look.now + minute)) {
        HIPQ_POINT("scheduler-leaves");
        return false;
    }
    if (databases::leave_to_give_way(look.now + process::longest_wait))
        return false;
    rest(scheduler);
    return true;
}

void schedule()
{
    const auto ticket = process::read_extra<databases::SchedulerTicket>();
    process::install_signal_handlers();
    if (!databases::attach_scheduler(ticket))
        return;
    HIPQ_POINT("scheduler-start");
    process::connect(ticket.database);
    workers::recount_workers();  // the previous scheduler may have ended in the middle of a
                                 // dispatch
    process::begin_duties();
    Scheduler scheduler{QueueWatch(pg::session_time_zone())};
    process::pin_settings();
    execute::prepare_durability();
    databases::begin_look();
    bool has_extension = false;
    pg::with_transaction([&] { has_extension = is_installed(); });
    if (!has_extension) {
        executors::note_queue_owners(0);
        databases::leave_scheduler(pg::infinity);
        return;
    }
    if (!is_right_version()) {
        databases::leave_closed_database();
        return;
    }
    while (work(scheduler)) {
    }
}

}  // namespace

}  // namespace hipq::server

HIPQ_WORKER_MAIN(hipq_scheduler_main)
{
    hipq::server::schedule();
}
