// Watches running user code for its deadline and for requests to cancel it.
//
// It begins and ends the timer, the slot in shared memory and the signal handler in one order.
#include "execute/stop_watch.hpp"

#include "catalog/cache.hpp"
#include "execute/bookkeeping.hpp"
#include "execute/cancellable.hpp"
#include "execute/deadline.hpp"
#include "execute/execute.hpp"
#include "job/claimed_job.hpp"
#include "job/current_job.hpp"
#include "job/finish.hpp"
#include "pg/clock.hpp"
#include "pg/transaction.hpp"
#include "retry/retry.hpp"
#include "shared/executors/stop_control.hpp"

namespace hipq::execute {

StopControl::StopControl(const Task &task)
{
    int timeout = task.jobs.front().timeout;
    for (const job::ClaimedJob &job : task.jobs)
        timeout = std::min(timeout, job.timeout);
    make_current(task.handler, task.jobs);
    begin(task.jobs.size() == 1 ? task.jobs.front().id : 0, timeout, false);
}

StopControl::StopControl(const job::ClaimedJob &job)
{
    begin(job.id, job.timeout, true);
}

StopControl::~StopControl()
{
    stop();
    job::set_current_jobs({});
}

void StopControl::begin(std::int64_t job_id, int timeout, bool asks_retry_handler)
{
    const pg::Time deadline{::GetCurrentTimestamp() + timeout * USECS_PER_SEC};
    begin_cancellable();
    comes_too_late_ = executors::begin_stop_control(job_id, deadline, asks_retry_handler);
    arm_deadline(deadline);
}

const Stop &StopControl::stop()
{
    if (stopped_)
        return stop_;
    stopped_ = true;
    stop_.missed_deadline = disarm_deadline();
    executors::EndedStopControl ended = executors::end_stop_control();
    end_cancellable(ended.signalled || stop_.missed_deadline);
    stop_.cancelled = std::move(ended.request);
    stop_.extended = ended.extended;
    return stop_;
}

std::optional<job::Failure> stop_failure(const Stop &stop, const job::ClaimedJob &job)
{
    if (stop.cancelled.has_value())
        return retry::cancelled_failure(*stop.cancelled, MyProcPid);
    if (stop.missed_deadline)
        return retry::timeout_failure(job, stop.extended);
    return std::nullopt;
}

namespace {

void report_uncancelled(std::int64_t id, const pg::Error &trouble)
{
    const std::string message = pg::short_message(trouble);
    pg::call([&] {
        ereport(WARNING, errcode(trouble.sqlerrcode()),
                errmsg("cannot cancel job %lld: %s", static_cast<long long>(id), message.c_str()),
                errdetail("It stays as it is."));
    });
}

}  // namespace

void heed_cancellations(const catalog::Queue &queue)
{
    for (const executors::RequestedJob &job : executors::close_jobs()) {
        const job::Failure failure = retry::cancelled_failure(job.error, MyProcPid);
        if (const auto trouble =
                try_to_write([&] { retry::end_cancelled(queue, job.id, failure, pg::now()); }))
            report_uncancelled(job.id, *trouble);
    }
}

}  // namespace hipq::execute
