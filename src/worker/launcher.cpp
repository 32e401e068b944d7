// The launcher.
//
// At its start it has every database looked at once (a scheduler that finds nothing to do leaves). After that it learns from
// shared memory: a commit that made work, the time a scheduler left behind, an executor a scheduler asks for.
#include "launcher.hpp"

#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "settings.hpp"
#include "shmem/alerts.hpp"
#include "shmem/databases.hpp"
#include "shmem/executors.hpp"
#include "shmem/stand_aside.hpp"
#include "worker/process.hpp"
#include "worker/server_databases.hpp"

namespace hipq::worker {

namespace {

// A process that was asked for and has not come up yet.
template <class Ticket>
struct Pending {
    Ticket ticket;
    BackgroundWorkerHandle *handle;
};

struct Launcher {
    std::vector<Pending<shmem::SchedulerTicket>> schedulers;
    std::vector<Pending<shmem::ExecutorTicket>> executors;
    pg::Time last_complaint{0};
};

void look_at_all_databases()
{
    for (const Oid database : open_databases())
        shmem::database_changed(database);
}

void complain_about_slots(Launcher &launcher)
{
    shmem::raise_alert(shmem::Alert::no_worker_slot);
    const pg::Time now{::GetCurrentTimestamp()};
    if (now < launcher.last_complaint + 60 * USECS_PER_SEC)
        return;
    launcher.last_complaint = now;
    pg::call([] {
        ereport(LOG, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED), errmsg("hipq found no free background worker slot"),
                errhint("Raise max_worker_processes."));
    });
}

void start_scheduler(Launcher &launcher, const shmem::SchedulerTicket &ticket)
{
    HIPQ_POINT("before-start-scheduler");
    BackgroundWorkerHandle *handle = nullptr;
    const WorkerDescription description{"hipq scheduler", "hipq scheduler", "hipq_scheduler_main", &ticket, sizeof(ticket)};
    if (start_worker(description, &handle)) {
        launcher.schedulers.push_back({ticket, handle});
        HIPQ_POINT("after-start-scheduler");
    } else {
        shmem::scheduler_failed(ticket);
        complain_about_slots(launcher);
    }
}

// None where it could not connect anyway: of a database that is gone everything is forgotten.
void start_schedulers(Launcher &launcher)
{
    std::array<shmem::SchedulerTicket, 4> tickets{};  // a few at a time: a server with many databases starts them in turn
    const std::size_t count = shmem::take_due_schedulers(pg::now(), tickets);
    for (std::size_t i = 0; i < count; ++i) {
        const Openness openness = openness_of(tickets[i].database);
        if (openness == Openness::open)
            start_scheduler(launcher, tickets[i]);
        else if (openness == Openness::closed)
            shmem::close_database(tickets[i]);
        else
            shmem::forget_database(tickets[i].database);
    }
}

void start_executors(Launcher &launcher)
{
    std::array<shmem::ExecutorTicket, 16> tickets{};
    const std::size_t count = shmem::take_requested_executors(tickets);
    for (std::size_t i = 0; i < count; ++i) {
        HIPQ_POINT("before-start-executor");
        BackgroundWorkerHandle *handle = nullptr;
        const WorkerDescription description{"hipq executor", "hipq executor", "hipq_executor_main", &tickets[i],
                                            sizeof(tickets[i])};
        if (start_worker(description, &handle)) {
            launcher.executors.push_back({tickets[i], handle});
            HIPQ_POINT("after-start-executor");
        } else {
            shmem::executor_not_started(tickets[i]);
            complain_about_slots(launcher);
        }
    }
}

// Forgets processes that came up or ended; a process that ended before it took its slot gives it back here.
template <class Ticket, class Ended>
void reap(std::vector<Pending<Ticket>> &pending, Ended &&ended)
{
    std::erase_if(pending, [&](const Pending<Ticket> &entry) {
        pid_t pid = 0;
        const BgwHandleStatus status = pg::call([&] { return ::GetBackgroundWorkerPid(entry.handle, &pid); });
        if (status == BGWH_STOPPED) {
            ended(entry.ticket);
            pg::call([&] { ::pfree(entry.handle); });
            return true;
        }
        return false;
    });
}

void run_once(Launcher &launcher)
{
    reap(launcher.schedulers, [](const shmem::SchedulerTicket &ticket) { shmem::scheduler_failed(ticket); });
    reap(launcher.executors, [](const shmem::ExecutorTicket &ticket) { shmem::executor_not_started(ticket); });
    if (shmem::must_look_at_all_databases())
        look_at_all_databases();
    if (settings::enabled)
        start_schedulers(launcher);
    start_executors(launcher);
}

std::int64_t time_to_wait()
{
    const pg::Time next = settings::enabled ? shmem::next_scheduler_due() : pg::infinity;
    return next == pg::infinity ? longest_wait : std::max<std::int64_t>(0, next.value - pg::now().value);
}

[[noreturn]] void launch()
{
    install_signal_handlers();
    // No database: only the catalogues that all databases share.
    pg::call([] { ::BackgroundWorkerInitializeConnection(nullptr, nullptr, 0); });
    shmem::attach_launcher();
    HIPQ_POINT("launcher-start");
    shmem::forget_starting_executors();
    Launcher launcher;
    look_at_all_databases();
    show_idle();
    for (;;) {
        if (check_interrupts())  // hipq.enabled, hipq.databases or hipq.max_executors may have changed
            look_at_all_databases();
        run_once(launcher);
        wait_for_work(time_to_wait());
    }
}

}  // namespace

void register_launcher()
{
    BackgroundWorker worker{};
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
    worker.bgw_restart_time = 5;
    ::strlcpy(worker.bgw_library_name, "hipq", BGW_MAXLEN);
    ::strlcpy(worker.bgw_function_name, "hipq_launcher_main", BGW_MAXLEN);
    ::strlcpy(worker.bgw_name, "hipq launcher", BGW_MAXLEN);
    ::strlcpy(worker.bgw_type, "hipq launcher", BGW_MAXLEN);
    if (!IsBinaryUpgrade)
        ::RegisterBackgroundWorker(&worker);
}

}  // namespace hipq::worker

HIPQ_WORKER_MAIN(hipq_launcher_main)
{
    hipq::worker::launch();
}
