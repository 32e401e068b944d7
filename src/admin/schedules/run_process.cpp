// Starts, watches and is the process of a run that needs one.
//
// The scheduler runs no code of users, and a trigger on the table of a queue may take long, or end
// its process. So such a run has a process of its own, which ends after it.
#include "admin/schedules/run_process.hpp"

#include "admin/schedules/due_runs.hpp"
#include "pg/compat.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"

#include <array>

extern "C" {
#include "utils/timeout.h"
}

namespace hipq::admin {

namespace {

struct RunTicket {
    Oid database;
    Oid role;
    int schedule_id;
};

struct RunProcess {
    int schedule_id;
    BackgroundWorkerHandle *handle;  // null: free
};

constexpr int longest_run = 60'000;   // ms
constexpr int longest_lock = 10'000;  // ms

// Plain data: it is read when the scheduler exits.
constinit std::array<RunProcess, 4> processes{};

// ---- the scheduler ----

extern "C" void hipq_end_run_processes(int, Datum)
{
    for (const RunProcess &process : processes)
        if (process.handle != nullptr)
            ::TerminateBackgroundWorker(process.handle);
}

bool has_ended(const RunProcess &process)
{
    pid_t pid = 0;
    return pg::call([&] { return ::GetBackgroundWorkerPid(process.handle, &pid); }) == BGWH_STOPPED;
}

RunProcess *free_place(int schedule_id)
{
    RunProcess *place = nullptr;
    for (RunProcess &process : processes) {
        if (process.handle != nullptr && process.schedule_id == schedule_id)
            return nullptr;
        if (process.handle == nullptr)
            place = &process;
    }
    return place;
}

// ---- the process ----

// The second transaction is not begun if the row says that several processes have ended in it.
void run_schedule(int id)
{
    pg::with_transaction([&] {
        if (lock_due_schedule(id, pg::now()).has_value())
            count_try(id);
    });
    pg::call([] { ::enable_timeout_after(STATEMENT_TIMEOUT, longest_run); });
    pg::with_transaction([&] {
        const pg::LockTimeoutScope bounded(longest_lock);
        handle_due(id, Runner::own_process, pg::now());
    });
    pg::call([] { ::disable_timeout(STATEMENT_TIMEOUT, false); });
}

void run_process()
{
    const auto ticket = process::read_extra<RunTicket>();
    process::install_signal_handlers();
    pg::call([&] { ::BackgroundWorkerInitializeConnectionByOid(ticket.database, ticket.role, 0); });
    process::pin_settings_of_executor();
    process::show_activity("hipq runs a schedule");
    run_schedule(ticket.schedule_id);
    process::show_idle();
}

}  // namespace

void start_run_process(int schedule_id, Oid queue_owner)
{
    static constinit bool is_prepared = false;
    if (!std::exchange(is_prepared, true))
        pg::call([] { ::before_shmem_exit(hipq_end_run_processes, Datum{0}); });
    RunProcess *place = free_place(schedule_id);
    if (place == nullptr)
        return;
    const RunTicket ticket{MyDatabaseId, queue_owner, schedule_id};
    BackgroundWorkerHandle *handle = nullptr;
    MemoryContext before = ::MemoryContextSwitchTo(TopMemoryContext);
    const bool is_started = process::start_worker(
        {"hipq schedule", "hipq schedule", "hipq_schedule_main", &ticket, sizeof(ticket)}, &handle);
    ::MemoryContextSwitchTo(before);
    if (is_started)
        *place = {schedule_id, handle};
}

std::vector<int> ended_run_processes()
{
    std::vector<int> ended;
    for (RunProcess &process : processes)
        if (process.handle != nullptr && has_ended(process)) {
            pg::call([&] { ::pfree(process.handle); });
            process.handle = nullptr;
            ended.push_back(process.schedule_id);
        }
    return ended;
}

bool has_run_processes()
{
    return std::ranges::any_of(processes,
                               [](const RunProcess &process) { return process.handle != nullptr; });
}

}  // namespace hipq::admin

HIPQ_WORKER_MAIN(hipq_schedule_main)
{
    hipq::admin::run_process();
}
