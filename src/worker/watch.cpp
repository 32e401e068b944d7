// Over the timer of deadline.cpp.
#include "watch.hpp"

#include "storage/current_job.hpp"
#include "worker/deadline.hpp"

namespace hipq::worker {

Watch::Watch(const Task &task)
{
    std::vector<storage::CurrentJob> current;
    int timeout = task.jobs.front().timeout;
    for (const storage::ClaimedJob &job : task.jobs) {
        current.push_back({job.queue_id, job.id, job.stored_attempt(), job.type, job.key, task.handler->may_commit});
        timeout = std::min(timeout, job.timeout);  // a batch is over when the time of its first job is
    }
    storage::set_current_jobs(std::move(current));
    arm_deadline(timeout);
}

bool Watch::stop_timer()
{
    missed_ = disarm_deadline();
    return missed_;
}

bool Watch::end()
{
    if (!ended_)
        missed_ = disarm_deadline() || missed_;
    ended_ = true;
    storage::set_current_jobs({});
    return missed_;
}

}  // namespace hipq::worker
