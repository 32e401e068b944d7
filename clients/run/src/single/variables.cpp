// The variables in the environment of a job's program.
#include "single/variables.hpp"

namespace hipq::run {

Environment variables_of(const ClaimedJob &job)
{
    Environment variables{
        {"HIPQ_JOB_ID", std::to_string(job.id)},
        {"HIPQ_ATTEMPT", std::to_string(job.attempt)},
        {"HIPQ_JOB_TYPE", job.type},
        {"HIPQ_QUEUE", job.queue},
        {"HIPQ_RETRY_COUNT", std::to_string(job.retry_count)},
        {"HIPQ_MAX_RETRIES", std::to_string(job.max_retries)},
        {"HIPQ_PROGRESS_FD", "3"},
    };
    if (job.key)
        variables.emplace_back("HIPQ_JOB_KEY", *job.key);
    if (!job.deadline.empty())
        variables.emplace_back("HIPQ_DEADLINE", job.deadline);
    if (job.traceparent)
        variables.emplace_back("TRACEPARENT", *job.traceparent);
    return variables;
}

}  // namespace hipq::run
