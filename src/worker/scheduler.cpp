// A scheduler: one per database with work. Decides who runs, sweeps, keeps the tables in order; runs no user code.
//
// It looks when a commit, a time or a process that ended says so, and at least every 10 s while work is due. With nothing due
// within a minute it leaves, and the launcher keeps the time of its return.
#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "settings.hpp"
#include "shmem/databases.hpp"
#include "shmem/executors.hpp"
#include "shmem/external_jobs.hpp"
#include "shmem/lanes.hpp"
#include "shmem/reserve.hpp"
#include "shmem/room.hpp"
#include "shmem/start_failures.hpp"
#include "storage/gates.hpp"
#include "storage/identity.hpp"
#include "storage/time_zone.hpp"
#include "worker/audit.hpp"
#include "worker/dispatch.hpp"
#include "worker/durability.hpp"
#include "worker/duties.hpp"
#include "worker/give_up_waiting.hpp"
#include "worker/look_after_workers.hpp"
#include "worker/maintenance.hpp"
#include "worker/pinned_settings.hpp"
#include "worker/process.hpp"
#include "worker/queue_look.hpp"
#include "worker/recover.hpp"
#include "worker/stalls.hpp"
#include "worker/stop_overdue.hpp"
#include "worker/successors.hpp"
#include "worker/suspects.hpp"
#include "worker/take_back.hpp"
#include "worker/vacuum.hpp"

namespace hipq::worker {

namespace {

using core::Duty;
using storage::Queue;

constexpr std::int64_t minute = 60'000'000;
constexpr std::int64_t idle_maintenance_interval = 60 * minute;

struct Scheduler {
    QueueLooks looks;
    Maintenance maintenance;
    bool has_identity = false;
    std::shared_ptr<const storage::Catalogue> catalogue;  // as the last look found it
    pg::Time next_room_look{0};
    Recovery recovery;
    TakingBack taking_back;
    Dispatcher dispatcher;
    Audit audit;
    Vacuums vacuums;
    Stalls stalls;
};

// ---- the database ----

void report_hold(const storage::Gate &gate)
{
    pg::call([&] {
        ereport(LOG, errmsg("hipq holds the jobs of database \"%s\"", ::get_database_name(MyDatabaseId)),
                errdetail_internal("%s", gate.explanation.c_str()),
                errhint("If this database is the one that shall run them: SELECT hipq.release_hold()."));
    });
}

// Whether anything may run here at all.
bool is_open(Scheduler &scheduler)
{
    bool open = false;
    pg::with_transaction([&] {
        if (!storage::enabled_gate().passed)
            return;
        const storage::Gate hold = storage::hold_gate();
        open = hold.passed;
        if (!open)
            report_hold(hold);
        else if (!std::exchange(scheduler.has_identity, true))
            storage::complete_identity();
    });
    return open;
}

std::set<Oid> owners_with_due_jobs(const Look &look)
{
    std::set<Oid> owners;
    for (const auto &[owner, wanted] : look.wanted)
        if (wanted.executors > 0)
            owners.insert(owner);
    return owners;
}

void ask_for_executors(Look &look)
{
    for (const auto &[owner, wanted] : look.wanted) {
        shmem::want_executors(MyDatabaseId, owner, std::min(wanted.executors, settings::max_executors), wanted.weight, look.now);
        if (wanted.executors > 0)
            look.again_at(shmem::next_try(MyDatabaseId, owner, look.now).value_or(look.now + longest_wait));
    }
}

// Limits may have been raised, and who waited may be gone.
void ask_anew_for_room(Scheduler &scheduler, bool is_changed, pg::Time now)
{
    if (!is_changed && now < scheduler.next_room_look)
        return;
    scheduler.next_room_look = now + longest_wait;
    shmem::forget_waiting_for_room();
}

// What they left goes back into line before the next jobs are given away.
pg::Time serve_workers(Scheduler &scheduler, pg::Time now)
{
    const pg::Time next = take_back(scheduler.taking_back);
    shmem::keep_probe_clocks();
    const pg::Time next_dispatch = dispatch(scheduler.dispatcher);
    return std::min({next, next_dispatch, next_loss(now), forget_workers(now)});
}

bool runs_handlers(const Queue &queue)
{
    return queue.handles_dead_letters() || std::any_of(queue.job_types.begin(), queue.job_types.end(),
                                                       [](const auto &entry) { return !entry.second.is_without_handler(); });
}

// Those that may come to need an executor.
int count_owners_with_handlers(const storage::Catalogue &catalogue)
{
    std::set<Oid> owners;
    pg::with_transaction([&] {
        for (const auto &[id, queue] : catalogue.queues)
            if (!queue.is_dropped && !owners.contains(queue.owner) && runs_handlers(queue) && storage::owner_gate(queue).passed)
                owners.insert(queue.owner);
    });
    return static_cast<int>(owners.size());
}

Look look_around(Scheduler &scheduler)
{
    Look look{pg::now(), pg::infinity, {}, false};
    do_duty(Duty::dispatch, nullptr, recall_workers);  // before their jobs are found
    look.again_at(recover(scheduler.recovery));
    look.again_at(serve_workers(scheduler, look.now));
    const TimestampTz start = ::GetCurrentTimestamp();
    scheduler.looks.lane_search.begin_look();
    const auto catalogue = read_catalogue();
    const bool is_changed = std::exchange(scheduler.catalogue, catalogue) != catalogue;
    ask_anew_for_room(scheduler, is_changed, look.now);
    if (is_changed)
        forget_jobs_of_dropped_queues(*catalogue);
    look.again_at(put_successors_in_line(*catalogue));
    look.again_at(give_up_waiting(*catalogue));
    forget_duties(*catalogue);
    for (const auto &entry : catalogue->queues) {
        const Queue &queue = entry.second;
        check_interrupts();
        if (queue.is_dropped)
            look.saw_dropped_queue = true;
        else
            look_at_queue(scheduler.looks, look, queue);
    }
    remove_lanes_of_dropped_queues(*catalogue);
    scheduler.looks.lane_search.end_look();
    if (const auto delay = audit(scheduler.audit, *catalogue, look.now))
        look.again_at(look.now + *delay);
    if (const auto delay = look_after_leaves(scheduler.vacuums, *catalogue, !owners_with_due_jobs(look).empty()))
        look.again_at(look.now + *delay);
    shmem::note_queue_owners(count_owners_with_handlers(*catalogue));
    HIPQ_POINT("before-ask-for-executors");
    ask_for_executors(look);
    if (const auto delay = watch_for_stalls(scheduler.stalls, *catalogue, owners_with_due_jobs(look)))
        look.again_at(look.now + *delay);
    look.again_at(next_duty());
    scheduler.recovery.pause = ::GetCurrentTimestamp() - start;
    return look;
}

// ---- the loop ----

bool is_installed()
{
    bool installed = false;
    pg::with_transaction([&] { installed = pg::call([] { return OidIsValid(::get_extension_oid("hipq", true)); }); });
    return installed;
}

// Whether the extension is this library's; said once in the log when it is not. It changes while no worker is there.
bool is_right_version()
{
    bool right = false;
    pg::with_transaction([&] {
        const storage::Gate gate = storage::version_gate();
        right = gate.passed;
        if (right)
            return;
        pg::call([&] {
            ereport(WARNING, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("hipq runs no jobs in database \"%s\"", ::get_database_name(MyDatabaseId)),
                    errdetail_internal("%s", gate.explanation.c_str()));
        });
    });
    return right;
}

// When a job for an external worker has come or a worker has room there is no need to look at everything; unless somebody has
// asked for that too, as he does who changes what may run at all.
void dispatch_if_asked(Scheduler &scheduler)
{
    if (shmem::next_look() <= pg::now() || !shmem::was_asked_for_dispatch())
        return;
    show_activity("hipq scheduler dispatches");
    const pg::Time next_dispatch = dispatch(scheduler.dispatcher);
    const pg::Time next = std::min({next_dispatch, next_loss(pg::now()), give_up_waiting(*read_catalogue())});
    show_idle();
    if (next != pg::infinity)
        shmem::work_due(MyDatabaseId, next);
}

// Waits until a look is due. While executors have hands it looks after those meanwhile, in shared memory only; what is said in
// that time may bring the look forward.
void rest(Scheduler &scheduler)
{
    constexpr std::int64_t hand_interval = 50'000;  // us
    const pg::Time latest = pg::now() + longest_wait;
    for (;;) {
        const bool watches = shmem::watches_hands();
        if (watches && shmem::look_after_hands(pg::Time{::GetCurrentTimestamp()}).took_back) {
            HIPQ_POINT("after-take-back");
            return;
        }
        dispatch_if_asked(scheduler);
        const std::int64_t left = std::min(shmem::next_look(), latest).value - pg::now().value;
        if (left <= 0)
            return;
        wait_for_work(std::min(watches ? std::min(left, hand_interval) : left, stop_overdue(MyDatabaseId)));
        if (check_interrupts())
            return;  // the settings may be others
    }
}

// One round: look, keep in order, wait. False: nothing to stay for.
bool work(Scheduler &scheduler)
{
    check_interrupts();
    shmem::begin_look();
    stop_overdue(MyDatabaseId);
    if (!is_open(scheduler)) {
        shmem::note_all_served();  // nothing waits for a worker
        return !shmem::leave_closed_database();
    }
    show_activity("hipq scheduler looks for work");
    Look look = look_around(scheduler);
    look.again_at(maintain(scheduler.maintenance, look.now, look.saw_dropped_queue));
    show_idle();
    const pg::Time due = shmem::end_look(std::min(look.next_due, look.now + idle_maintenance_interval));
    if (due > look.now + minute && shmem::leave_scheduler(look.now + minute)) {
        HIPQ_POINT("scheduler-leaves");
        return false;
    }
    if (shmem::leave_to_make_room(look.now + longest_wait))
        return false;
    rest(scheduler);
    return true;
}

void schedule()
{
    const auto ticket = read_extra<shmem::SchedulerTicket>();
    install_signal_handlers();
    if (!shmem::attach_scheduler(ticket))
        return;
    HIPQ_POINT("scheduler-start");
    pg::call([&] { ::BackgroundWorkerInitializeConnectionByOid(ticket.database, InvalidOid, 0); });
    shmem::recount_workers();  // the scheduler before may have ended in the middle of a dispatch
    begin_duties();
    Scheduler scheduler;
    scheduler.looks.time_zone = storage::session_time_zone();
    pin_settings();
    prepare_durability();
    shmem::begin_look();
    if (!is_installed()) {
        shmem::note_queue_owners(0);
        shmem::leave_scheduler(pg::infinity);
        return;
    }
    if (!is_right_version()) {
        shmem::leave_closed_database();
        return;
    }
    while (work(scheduler)) {
    }
}

}  // namespace

}  // namespace hipq::worker

HIPQ_WORKER_MAIN(hipq_scheduler_main)
{
    hipq::worker::schedule();
}
