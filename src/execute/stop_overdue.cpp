// Ends handlers that do not stop when cancelled, step by step.
//
// The steps are in shared/executors/stop_control.cpp; this file has their clock and their log
// messages.
#include "execute/execute.hpp"

#include "process/process.hpp"
#include "settings.hpp"
#include "shared/executors/stop_control.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::execute {

namespace {

void report(const executors::UnresponsiveExecutor &executor)
{
    const memory::RunningJob &job = executor.job;
    pg::call([&] {
        ereport(WARNING,
                errmsg("executor with PID %d does not respond to its termination", executor.pid),
                errdetail_internal("It runs job %lld of type \"%s\", which %s.",
                                   static_cast<long long>(job.id), job.type,
                                   executor.cancel_requested ? "was cancelled"
                                                             : "has exceeded its timeout"),
                errhint("The code that it runs does not check for interrupts. The executor counts "
                        "under hipq.max_executors until "
                        "that code ends or the server is restarted."));
    });
}

}  // namespace

std::int64_t stop_overdue(Oid database)
{
    const executors::Stopped stopped =
        executors::stop_overdue_jobs(database, settings::terminate_grace.microseconds());
    for (const executors::UnresponsiveExecutor &executor : stopped.unresponsive)
        report(executor);
    if (stopped.next == pg::infinity)
        return process::longest_wait;
    return std::clamp<std::int64_t>(stopped.next.value - ::GetCurrentTimestamp(), 0,
                                    process::longest_wait);
}

}  // namespace hipq::execute
