// Handles signals, waiting and activity for hipq's background processes.
#include "process/process.hpp"

#include "pg/compat.hpp"
#include "shared/flight/flight_recorder.hpp"

namespace hipq::process {

void install_signal_handlers()
{
    pg::call([] {
        pqsignal(SIGHUP, ::SignalHandlerForConfigReload);
        pqsignal(SIGTERM, ::die);
        pqsignal(SIGINT, ::StatementCancelHandler);
        flight::install_quit_handler();
        ::BackgroundWorkerUnblockSignals();
        ConfigReloadPending =
            true;  // until now PostgreSQL ignored SIGHUP, so an earlier one is lost
    });
}

bool check_interrupts()
{
    return pg::call([] {
        CHECK_FOR_INTERRUPTS();
        if (!ConfigReloadPending)
            return false;
        ConfigReloadPending = false;
        ::ProcessConfigFile(PGC_SIGHUP);
        return true;
    });
}

void wait_for_work(std::int64_t microseconds)
{
    const std::int64_t bounded = std::clamp<std::int64_t>(microseconds, 0, longest_wait);
    pg::call([&] {
        (void)::WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                          static_cast<long>((bounded + 999) / 1000), PG_WAIT_EXTENSION);
        ::ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    });
}

void show_activity(const std::string &text)
{
    pg::call([&] { ::pgstat_report_activity(STATE_RUNNING, text.c_str()); });
}

void show_idle()
{
    pg::call([] {
        ::pgstat_report_activity(STATE_IDLE, nullptr);
        (void)::pgstat_report_stat(true);  // also reports the statistics that recent transactions
                                           // have kept back
    });
}

bool start_worker(const WorkerDescription &description, BackgroundWorkerHandle **handle)
{
    return pg::call([&] {
        BackgroundWorker worker{};
        worker.bgw_flags = pg::worker_flags;
        worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
        worker.bgw_restart_time = BGW_NEVER_RESTART;
        worker.bgw_notify_pid = MyProcPid;
        ::strlcpy(worker.bgw_library_name, "hipq", BGW_MAXLEN);
        ::strlcpy(worker.bgw_function_name, description.function, BGW_MAXLEN);
        ::strlcpy(worker.bgw_name, description.name, BGW_MAXLEN);
        ::strlcpy(worker.bgw_type, description.type, BGW_MAXLEN);
        std::memcpy(worker.bgw_extra, description.extra, description.extra_size);
        return ::RegisterDynamicBackgroundWorker(&worker, handle);
    });
}

}  // namespace hipq::process
