// A scheduler: one per database with work. Decides who runs, sweeps, keeps the tables in order; runs no user code.
//
// It looks when a commit, a time or a process that ended says so, and at least every 10 s while work is due. With nothing due
// within a minute it leaves, and the launcher keeps the time of its return.
#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "settings.hpp"
#include "shmem/alerts.hpp"
#include "shmem/databases.hpp"
#include "shmem/decisions.hpp"
#include "shmem/executors.hpp"
#include "shmem/external_jobs.hpp"
#include "shmem/hands.hpp"
#include "shmem/lanes.hpp"
#include "shmem/room.hpp"
#include "shmem/start_failures.hpp"
#include "storage/claim.hpp"
#include "storage/dead_letter.hpp"
#include "storage/finish.hpp"
#include "storage/gates.hpp"
#include "storage/handler.hpp"
#include "storage/identity.hpp"
#include "storage/lane_rows.hpp"
#include "storage/made_by_handler.hpp"
#include "storage/permit.hpp"
#include "storage/queue_statements.hpp"
#include "storage/queue_table.hpp"
#include "storage/time_zone.hpp"
#include "storage/worker_gate.hpp"
#include "worker/audit.hpp"
#include "worker/dispatch.hpp"
#include "worker/durability.hpp"
#include "worker/give_up_waiting.hpp"
#include "worker/look_after_workers.hpp"
#include "worker/process.hpp"
#include "worker/recover.hpp"
#include "worker/stalls.hpp"
#include "worker/stop_overdue.hpp"
#include "worker/successors.hpp"
#include "worker/suspects.hpp"
#include "worker/take_back.hpp"
#include "worker/vacuum.hpp"

namespace hipq::worker {

namespace {

using storage::Queue;

constexpr std::int64_t minute = 60'000'000;
constexpr std::int64_t maintenance_interval = minute;
constexpr std::int64_t idle_maintenance_interval = 60 * minute;
constexpr std::int64_t retry_interval = 1'000'000;
constexpr int expire_at_once = 1'000;

// Executors that a queue owner should have, and how much its queues with due jobs weigh.
struct Wanted {
    int executors = 0;
    std::int64_t weight = 0;
};

// What one look found.
struct Look {
    pg::Time now;
    pg::Time next_due = pg::infinity;
    std::map<Oid, Wanted> wanted;  // by queue owner, of those too who want none
    bool saw_dropped_queue = false;

    void again_at(pg::Time due) { next_due = std::min(next_due, due); }
};

struct Scheduler {
    std::string time_zone;  // the database's
    bool has_identity = false;
    pg::Time next_maintenance{0};
    bool maintenance_left = false;                        // steps that somebody's lock was against
    std::set<std::string> reported;                       // parked job types that were logged
    std::shared_ptr<const storage::Catalogue> catalogue;  // as the last look found it
    pg::Time next_room_look{0};
    bool searches_lanes = true;      // there may be lanes that are not in shared memory: the tables tell
    bool lanes_are_missing = false;  // for want of room
    Recovery recovery;
    TakingBack taking_back;
    Dispatcher dispatcher;
    Audit audit;
    Vacuums vacuums;
    Stalls stalls;
};

// ---- one queue ----

constinit pg::Statement register_type(R"(
    INSERT INTO hipq.job_type (queue_id, name, time_zone)
    SELECT queue.queue_id, $2, $3 FROM hipq.queue AS queue WHERE queue.queue_id = $1 FOR KEY SHARE
    ON CONFLICT DO NOTHING)");

// An unknown type becomes one without handler, so that it is seen in hipq.job_types.
void register_unknown_type(const Scheduler &scheduler, const Queue &queue, const std::string &job_type)
{
    if (queue.find_job_type(job_type) == nullptr && !queue.is_strict)
        storage::as_hipq([&] { register_type.run(queue.id, job_type, scheduler.time_zone); });
}

void report_parked(Scheduler &scheduler, const Queue &queue, const std::string &job_type, const std::string &explanation)
{
    if (!scheduler.reported.insert(queue.full_name() + "/" + job_type).second)
        return;
    const std::string name = queue.full_name();
    pg::call([&] {
        ereport(WARNING, errmsg("jobs of type \"%s\" in queue \"%s\" wait for their handler", job_type.c_str(), name.c_str()),
                errdetail_internal("%s", explanation.c_str()));
    });
}

void report_unhandled(Scheduler &scheduler, const Queue &queue, const std::string &problem)
{
    const std::string name = queue.full_name();
    if (!scheduler.reported.insert(name + "/dead letters: " + problem).second)
        return;
    pg::call([&] {
        ereport(WARNING, errmsg("dead letters of queue \"%s\" wait for their handler", name.c_str()),
                errdetail_internal("%s", problem.c_str()));
    });
}

void report_unserved(Scheduler &scheduler, const Queue &queue, const std::string &job_type, const storage::Gate &gate)
{
    shmem::raise_alert(shmem::Alert::no_worker);
    if (!scheduler.reported.insert(queue.full_name() + "/" + job_type + ": no worker").second)
        return;
    const std::string name = queue.full_name();
    pg::call([&] {
        ereport(WARNING,
                errmsg("jobs of type \"%s\" in queue \"%s\" wait for an external worker", job_type.c_str(), name.c_str()),
                errdetail_internal("%s", gate.explanation.c_str()));
    });
}

// Jobs that dispatch() has left in the line.
void look_at_unserved(Scheduler &scheduler, Look &look, const Queue &queue, const std::string &job_type)
{
    const storage::Service service = storage::service_of(queue.id, job_type);
    if (service.able == 0)
        report_unserved(scheduler, queue, job_type, storage::worker_gate(queue, job_type));
    else
        scheduler.reported.erase(queue.full_name() + "/" + job_type + ": no worker");
    look.again_at(look.now + longest_wait);
}

// Jobs that are due, counted only as far as it matters.
void look_at_due(Scheduler &scheduler, Look &look, const Queue &queue, const std::string &job_type, int count, bool owner_can_run)
{
    if (queue.find_pause(job_type) != nullptr)
        return;  // who resumes it asks for a look
    if (const storage::JobType *type = queue.find_job_type(job_type); type != nullptr && storage::runs_outside(queue, *type)) {
        look_at_unserved(scheduler, look, queue, job_type);
        return;
    }
    const storage::Gate gate = storage::handler_gate(queue, job_type);
    if (!gate.passed)
        report_parked(scheduler, queue, job_type, gate.explanation);
    if (!gate.passed || !owner_can_run || !storage::room_gate(queue, job_type).passed)
        look.again_at(look.now + longest_wait);
    else
        look.wanted[queue.owner].executors += count;
}

// When the first jobs of a lane are due that stand from a key on.
std::vector<pg::Time> due_times(const Look &look, const Queue &queue, const shmem::LaneInfo &lane, core::LaneKey from)
{
    if (from == core::lane_end)
        return {};
    return storage::first_due_times(queue, lane.name.type, lane.name.priority, from, look.now,
                                    std::max(1, settings::max_executors));
}

// A lane may hold less than it seems to: what was noted there may be gone.
void look_at_lane(Scheduler &scheduler, Look &look, const Queue &queue, const shmem::LaneInfo &lane, bool owner_can_run)
{
    const std::string job_type = lane.name.type;
    const core::Lane::Places places = shmem::places_of(lane.ref, look.now);
    const std::vector<pg::Time> times = due_times(look, queue, lane, places.from);
    if (places.next_key_due != core::lane_limit)
        look.again_at(pg::Time{places.next_key_due});
    const auto due = static_cast<int>(places.single_keys) +
                     static_cast<int>(std::count_if(times.begin(), times.end(), [&](pg::Time time) { return time <= look.now; }));
    if (due > 0 || !times.empty())
        register_unknown_type(scheduler, queue, job_type);
    if (due == 0 && !times.empty())
        look.again_at(times.front());
    else if (due > 0 && lane.due > look.now)  // put off: somebody else holds them
        look.again_at(lane.due);
    else if (due > 0)
        look_at_due(scheduler, look, queue, job_type, due, owner_can_run);
}

void look_at_lanes(Scheduler &scheduler, Look &look, const Queue &queue, bool owner_can_run)
{
    const Oid leaf = storage::live_leaf(queue);
    for (const shmem::LaneInfo &lane : shmem::list_lanes()) {
        if (lane.name.queue_id != queue.id || lane.due == pg::infinity)
            continue;
        if (lane.name.leaf == leaf)
            look_at_lane(scheduler, look, queue, lane, owner_can_run);
        else
            shmem::remove_lane(lane.ref);  // somebody has put another table in its place
    }
}

// They would keep their place in shared memory for ever.
void remove_lanes_of_dropped_queues(const storage::Catalogue &catalogue)
{
    for (const shmem::LaneInfo &lane : shmem::list_lanes()) {
        const Queue *queue = catalogue.find(lane.name.queue_id);
        if (queue == nullptr || queue->is_dropped)
            shmem::remove_lane(lane.ref);
    }
}

// Without room for a lane its jobs are looked for in the table each time.
void look_at_heads(Scheduler &scheduler, Look &look, const Queue &queue, bool owner_can_run)
{
    for (const storage::LaneHead &head : storage::lane_heads(queue, look.now)) {
        const shmem::LaneName name(storage::live_leaf(queue), queue.id, head.priority, head.job_type);
        if (const shmem::LaneRef lane = shmem::find_or_make_lane(name); lane.is_known()) {
            shmem::show_lane(lane);
            continue;
        }
        scheduler.lanes_are_missing = true;
        register_unknown_type(scheduler, queue, head.job_type);
        if (head.due > look.now)
            look.again_at(head.due);
        else
            look_at_due(scheduler, look, queue, head.job_type, 1, owner_can_run);
    }
}

// An executor goes through them all, so that one offer for the queue is enough.
void offer_dead_letters(Scheduler &scheduler, Look &look, const Queue &queue)
{
    if (!storage::has_dead_letters_to_handle(queue))
        return;
    std::string problem;
    if (storage::resolve_dead_letter_handler(queue, &problem).has_value())
        shmem::offer_decision({MyDatabaseId, queue.owner, queue.id, queue.id, true});
    else
        report_unhandled(scheduler, queue, problem);
    look.again_at(look.now + longest_wait);
}

void look_at_queue(Scheduler &scheduler, Look &look, const Queue &queue)
{
    HIPQ_POINT("before-expire");
    if (storage::expire_waiting(queue, look.now, expire_at_once) == expire_at_once)
        look.again_at(look.now);
    HIPQ_POINT("after-expire");
    look.again_at(storage::next_expiry(queue));
    const bool owner_can_run = storage::owner_gate(queue).passed;
    Wanted &wanted = look.wanted[queue.owner];
    const int before = wanted.executors;
    shmem::refuse_starts(MyDatabaseId, queue.owner, !owner_can_run);
    if (scheduler.searches_lanes)
        look_at_heads(scheduler, look, queue, owner_can_run);
    look_at_lanes(scheduler, look, queue, owner_can_run);
    if (owner_can_run)
        offer_dead_letters(scheduler, look, queue);
    if (shmem::has_decisions(MyDatabaseId, queue.owner))
        wanted.executors += 1;
    if (wanted.executors > before)
        wanted.weight += queue.weight;
}

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
    return std::min({next, dispatch(scheduler.dispatcher), forget_workers(now)});
}

Look look_around(Scheduler &scheduler)
{
    Look look{pg::now(), pg::infinity, {}, false};
    recall_workers();  // before their jobs are found
    look.again_at(recover(scheduler.recovery));
    look.again_at(serve_workers(scheduler, look.now));
    const TimestampTz start = ::GetCurrentTimestamp();
    const auto losses = shmem::search_due();
    scheduler.searches_lanes = scheduler.searches_lanes || losses.has_value();
    scheduler.lanes_are_missing = false;
    const auto catalogue = read_catalogue();
    const bool is_changed = std::exchange(scheduler.catalogue, catalogue) != catalogue;
    ask_anew_for_room(scheduler, is_changed, look.now);
    if (is_changed)
        forget_jobs_of_dropped_queues(*catalogue);
    look.again_at(put_successors_in_line(*catalogue));
    look.again_at(give_up_waiting(*catalogue));
    for (const auto &entry : catalogue->queues) {
        const Queue &queue = entry.second;
        check_interrupts();
        if (queue.is_dropped)
            look.saw_dropped_queue = true;
        else
            pg::with_transaction([&] { look_at_queue(scheduler, look, queue); });
    }
    remove_lanes_of_dropped_queues(*catalogue);
    scheduler.searches_lanes = scheduler.lanes_are_missing;
    if (losses.has_value() && !scheduler.lanes_are_missing)
        shmem::search_done(*losses);
    if (const auto delay = audit(scheduler.audit, *catalogue, look.now))
        look.again_at(look.now + *delay);
    if (const auto delay = look_after_leaves(scheduler.vacuums, *catalogue, !owners_with_due_jobs(look).empty()))
        look.again_at(look.now + *delay);
    HIPQ_POINT("before-ask-for-executors");
    ask_for_executors(look);
    if (const auto delay = watch_for_stalls(scheduler.stalls, *catalogue, owners_with_due_jobs(look)))
        look.again_at(look.now + *delay);
    scheduler.recovery.pause = ::GetCurrentTimestamp() - start;
    return look;
}

// ---- maintenance ----

bool maintain_trees(const storage::Catalogue &catalogue, storage::Patience &patience)
{
    bool done = true;
    std::int64_t longest_retention = std::int64_t{settings::retention} * minute;
    for (const auto &[id, queue] : catalogue.queues) {
        if (queue.is_dropped)
            continue;
        longest_retention = std::max(longest_retention, queue.retention);
        done = storage::maintain_time_tree({queue.table + "_final", "update_time", queue.retention, true}, patience) && done;
    }
    return storage::maintain_time_tree({"attempt", "ended_time", longest_retention, false}, patience) && done;
}

// Those whose time is over, and of each queue the oldest that are too many.
void prune_dead_letters(const storage::Catalogue &catalogue)
{
    constexpr int at_once = 10'000;
    pg::with_transaction([] {
        storage::prune_dead_letters(at_once);
        HIPQ_POINT("after-prune");
    });
    pg::with_transaction([&] { storage::prune_made_jobs(catalogue); });
    for (const auto &entry : catalogue.queues)
        for (std::int64_t pruned = at_once; pruned == at_once && !entry.second.is_dropped;) {
            check_interrupts();
            pg::with_transaction([&] { pruned = storage::prune_surplus_dead_letters(entry.second, at_once); });
        }
}

void maintain_now(Scheduler &scheduler, pg::Time now)
{
    scheduler.maintenance_left = false;
    const auto catalogue = read_catalogue();
    if (catalogue->queues.empty())
        return;
    forget_stale_cases();
    storage::Patience patience;
    const bool dropped = storage::finish_dropping_queues(patience);
    const bool trees_done = maintain_trees(*catalogue, patience);
    prune_dead_letters(*catalogue);
    scheduler.maintenance_left = !dropped || !trees_done;
    scheduler.next_maintenance = now + (scheduler.maintenance_left ? retry_interval : maintenance_interval);
}

void maintain(Scheduler &scheduler, Look &look)
{
    // A queue that was dropped just now goes at once; one that could not go, when its time comes.
    if (look.now >= scheduler.next_maintenance || (look.saw_dropped_queue && !scheduler.maintenance_left))
        maintain_now(scheduler, look.now);
    if (scheduler.maintenance_left)  // also when something else has woken it before that time
        look.again_at(scheduler.next_maintenance);
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
            ereport(WARNING, errmsg("hipq runs no jobs in database \"%s\"", ::get_database_name(MyDatabaseId)),
                    errdetail_internal("%s", gate.explanation.c_str()));
        });
    });
    return right;
}

// hipq's own session: settings that a database or role may carry do not reach it.
void pin_settings()
{
    pg::call([] {
        for (const auto &[name, value] :
             {std::pair{"search_path", "pg_catalog, pg_temp"}, std::pair{"session_replication_role", "origin"},
              std::pair{"row_security", "off"}, std::pair{"statement_timeout", "0"}, std::pair{"lock_timeout", "0"},
              std::pair{"idle_in_transaction_session_timeout", "0"}, std::pair{"default_transaction_read_only", "off"},
              std::pair{"default_transaction_isolation", "read committed"}, std::pair{"TimeZone", "UTC"},
              std::pair{"DateStyle", "ISO, YMD"}})
            ::SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
    });
}

// When a job for an external worker has come or a worker has room there is no need to look at everything; unless somebody has
// asked for that too, as he does who changes what may run at all.
void dispatch_if_asked(Scheduler &scheduler)
{
    if (shmem::next_look() <= pg::now() || !shmem::was_asked_for_dispatch())
        return;
    show_activity("hipq scheduler dispatches");
    const pg::Time next = std::min(dispatch(scheduler.dispatcher), give_up_waiting(*read_catalogue()));
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
    maintain(scheduler, look);
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
    Scheduler scheduler;
    scheduler.time_zone = storage::session_time_zone();
    pin_settings();
    prepare_durability();
    shmem::begin_look();
    if (!is_installed()) {
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
