// Starts and restarts schedulers and executors; connected to no database.
#include "server/server.hpp"

#include "execute/execute.hpp"
#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "pg/point.hpp"
#include "process/process.hpp"
#include "server/prepared_look.hpp"
#include "server/server_databases.hpp"
#include "server/watchdog.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/databases/launcher_slots.hpp"
#include "shared/databases/scheduler_ticket.hpp"
#include "shared/executors/executor_slots.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/lanes/rates.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::server {

namespace {

// A process that was requested and has not come up yet.
template <class Ticket>
struct Pending {
    Ticket ticket;
    BackgroundWorkerHandle *handle;
};

constexpr std::int64_t short_for = USECS_PER_SEC;
constexpr std::int64_t complaint_interval = 60 * USECS_PER_SEC;

struct Launcher {
    std::vector<Pending<databases::SchedulerTicket>> schedulers;
    std::vector<Pending<executors::ExecutorTicket>> executors;
    pg::Time next_complaint{0};
    pg::Time short_until{0};     // without a free background worker slot, request no other
                                 // before this time
    pg::Time last_full_look{0};  // when a look at all databases began
    std::vector<Oid> unseen;     // databases for which this look has found no room yet
    pg::Time next_insistence{
        0};  // when one of them gets a slot, though another is about to be free
    bool executors_first = true;  // neither kind may take the last slots every time
    pg::Time last_seen{0};        // by hipq's clock
    Watchdog watchdog;
    PreparedWatch prepared;
};

// Looks at all databases do not begin more often than this.
constexpr std::int64_t full_look_interval = 1'000'000;  // us

// Has every database looked at: the known ones now, the others as there is room for them.
void look_at_all_databases(Launcher &launcher)
{
    launcher.unseen.clear();
    for (const Oid database : open_databases())
        if (databases::make_known(database, false))
            databases::database_changed(database);
        else
            launcher.unseen.push_back(database);
}

// Returns whether a time is in the future, but not so far that the clock must have been set back.
bool lies_ahead(pg::Time time, std::int64_t longest)
{
    const pg::Time now = pg::now();
    return time > now && time <= now + longest;
}

bool has_begun_full_look(const Launcher &launcher)
{
    return lies_ahead(launcher.last_full_look + full_look_interval, full_look_interval);
}

// Gives databases without room in shared memory a free slot, or that of a database that can wait.
void take_turns(Launcher &launcher)
{
    const pg::Time now = pg::now();
    if (launcher.unseen.empty() && !has_begun_full_look(launcher) &&
        databases::take_look_at_all(now)) {
        launcher.last_full_look = now;
        launcher.unseen = open_databases();
    }
    while (!launcher.unseen.empty() &&
           databases::make_known(launcher.unseen.back(), now >= launcher.next_insistence)) {
        launcher.next_insistence = now + full_look_interval;
        launcher.unseen.pop_back();
    }
}

void found_no_slot(Launcher &launcher)
{
    const pg::Time now = pg::now();
    memory::raise_alert(memory::Alert::no_worker_slot);
    executors::note_free_worker_slots(false);
    launcher.short_until = now + short_for;
    if (lies_ahead(launcher.next_complaint, complaint_interval))
        return;
    launcher.next_complaint = now + complaint_interval;
    pg::call([] {
        ereport(LOG, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                errmsg("hipq found no free background worker slot"),
                errhint("Raise max_worker_processes."));
    });
}

bool is_short_of_slots(const Launcher &launcher)
{
    return lies_ahead(launcher.short_until, short_for);
}

// Returns whether there was a slot for it.
template <class Ticket>
bool start(Launcher &launcher, std::vector<Pending<Ticket>> &pending, const Ticket &ticket,
           const char *name, const char *function)
{
    if (is_short_of_slots(launcher))
        return false;
    BackgroundWorkerHandle *handle = nullptr;
    if (!process::start_worker({name, name, function, &ticket, sizeof(ticket)}, &handle)) {
        found_no_slot(launcher);
        return false;
    }
    executors::note_free_worker_slots(true);
    pending.push_back({ticket, handle});
    return true;
}

void start_scheduler(Launcher &launcher, const databases::SchedulerTicket &ticket)
{
    HIPQ_POINT("before-start-scheduler");
    if (start(launcher, launcher.schedulers, ticket, "hipq scheduler", "hipq_scheduler_main")) {
        launcher.executors_first = true;
        HIPQ_POINT("after-start-scheduler");
    } else {
        databases::scheduler_found_no_slot(ticket);
    }
}

// Starts no scheduler that could not connect. Forgets everything about a database that is gone.
void start_schedulers(Launcher &launcher)
{
    std::array<databases::SchedulerTicket, 4>
        tickets{};  // a few at a time: a server with many databases starts them in turn
    const std::size_t count = databases::take_due_schedulers(pg::now(), tickets);
    for (std::size_t i = 0; i < count; ++i) {
        const Openness openness = openness_of(tickets[i].database);
        if (openness == Openness::open)
            start_scheduler(launcher, tickets[i]);
        else if (openness == Openness::closed)
            databases::close_database(tickets[i]);
        else
            memory::forget_database(tickets[i].database);
    }
}

void start_executors(Launcher &launcher)
{
    std::array<executors::ExecutorTicket, 16> tickets{};
    const std::size_t count = executors::take_requested_executors(tickets);
    for (std::size_t i = 0; i < count; ++i) {
        HIPQ_POINT("before-start-executor");
        if (start(launcher, launcher.executors, tickets[i], "hipq executor",
                  "hipq_executor_main")) {
            launcher.executors_first = false;
            HIPQ_POINT("after-start-executor");
        } else {
            executors::executor_found_no_slot(tickets[i]);
        }
    }
}

void start_workers(Launcher &launcher)
{
    const bool executors_first = launcher.executors_first;
    for (const bool executors : {executors_first, !executors_first}) {
        if (is_short_of_slots(launcher))
            return;
        if (executors)
            start_executors(launcher);
        else if (settings::enabled)
            start_schedulers(launcher);
    }
}

// Forgets processes that ended. If a process ended before it took its slot, the slot is freed here.
template <class Ticket, class Ended>
void reap(std::vector<Pending<Ticket>> &pending, Ended &&ended)
{
    std::erase_if(pending, [&](const Pending<Ticket> &entry) {
        pid_t pid = 0;
        const BgwHandleStatus status =
            pg::call([&] { return ::GetBackgroundWorkerPid(entry.handle, &pid); });
        if (status == BGWH_STOPPED) {
            ended(entry.ticket);
            pg::call([&] { ::pfree(entry.handle); });
            return true;
        }
        return false;
    });
}

// If the clock was set back, everything that was put off would wait too long.
void notice_clock(Launcher &launcher)
{
    constexpr std::int64_t step = 1'000'000;  // us
    const pg::Time now = pg::now();
    if (now + step < launcher.last_seen) {
        lanes::look_again_everywhere();
        databases::hasten_look_at_all();
    }
    launcher.last_seen = now;
}

void run_once(Launcher &launcher)
{
    notice_clock(launcher);
    reap(launcher.schedulers,
         [](const databases::SchedulerTicket &ticket) { databases::scheduler_failed(ticket); });
    reap(launcher.executors,
         [](const executors::ExecutorTicket &ticket) { executors::executor_not_started(ticket); });
    if (settings::enabled)
        take_turns(launcher);
    start_workers(launcher);
}

std::int64_t time_to_wait(const Launcher &launcher)
{
    if (is_short_of_slots(launcher))
        return short_for;
    if (!settings::enabled)
        return process::longest_wait;
    pg::Time next = databases::next_scheduler_due();
    std::int64_t longest = process::longest_wait;
    if (!launcher.unseen.empty() || has_begun_full_look(launcher))
        longest = full_look_interval;
    else
        next = std::min(next, databases::next_look_at_all());
    return next == pg::infinity
               ? longest
               : std::clamp<std::int64_t>(next.value - pg::now().value, 0, longest);
}

[[noreturn]] void launch()
{
    process::install_signal_handlers();
    // No database: only the shared catalogs.
    pg::call([] { ::BackgroundWorkerInitializeConnection(nullptr, nullptr, 0); });
    databases::attach_launcher();
    HIPQ_POINT("launcher-start");
    executors::forget_starting_executors();
    lanes::begin_rates();
    Launcher launcher;
    look_at_all_databases(launcher);
    process::show_idle();
    for (;;) {
        if (process::check_interrupts())  // hipq.enabled, hipq.databases or hipq.max_executors may
                                          // have changed
            look_at_all_databases(launcher);
        run_once(launcher);
        const std::int64_t watch_again =
            std::min({watch_schedulers(launcher.watchdog), watch_prepared(launcher.prepared),
                      databases::pass_on_rights_look().value_or(process::longest_wait)});
        process::wait_for_work(
            std::min({time_to_wait(launcher), execute::stop_overdue(InvalidOid), watch_again}));
    }
}

}  // namespace

void register_launcher()
{
    BackgroundWorker worker{};
    worker.bgw_flags = pg::worker_flags;
    worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
    worker.bgw_restart_time = 1;
    ::strlcpy(worker.bgw_library_name, "hipq", BGW_MAXLEN);
    ::strlcpy(worker.bgw_function_name, "hipq_launcher_main", BGW_MAXLEN);
    ::strlcpy(worker.bgw_name, "hipq launcher", BGW_MAXLEN);
    ::strlcpy(worker.bgw_type, "hipq launcher", BGW_MAXLEN);
    if (!IsBinaryUpgrade)
        ::RegisterBackgroundWorker(&worker);
}

}  // namespace hipq::server

HIPQ_WORKER_MAIN(hipq_launcher_main)
{
    hipq::server::launch();
}
