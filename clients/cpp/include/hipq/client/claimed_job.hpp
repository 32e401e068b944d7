// A job from hipq.claim(): one attempt.
#pragma once

#include "hipq/client/loop.hpp"
#include "hipq/client/result.hpp"

namespace hipq::client {

struct ClaimedJob {
    std::int64_t id = 0;
    int attempt = 0;  // 1 is the first
    std::string queue;
    std::string type;
    std::optional<std::string> key;
    std::string data;      // JSON
    std::string deadline;  // in the server's format
    // When it times out, unless it is extended, by this machine's clock; none: never.
    std::optional<Loop::Clock::time_point> times_out;
    int retry_count = 0;
    int max_retries = 0;
    std::string scheduled_run_time;
    std::string created_time;
    std::optional<std::int64_t> original_job_id;  // the first job of the chain of manual retries
    std::optional<std::string> traceparent;
};

// Reads a deadline: as a text in a common format, and as a time from now.
#define HIPQ_CLIENT_DEADLINE(deadline)                                                             \
    "to_char(" deadline " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') AS "            \
    "deadline_text, extract(epoch FROM " deadline ") - extract(epoch FROM hipq.now()) AS "         \
    "seconds_left"

inline std::optional<Loop::Clock::time_point> time_out_of(const Result &result, int row)
{
    const double seconds = std::strtod(result.text(row, "seconds_left").c_str(), nullptr);
    // A deadline that never comes is "infinity".
    if (!(seconds < 1e9))
        return std::nullopt;
    return Loop::Clock::now() + Loop::Milliseconds(static_cast<long>(seconds * 1000));
}

inline ClaimedJob claimed_job(const Result &result, int row)
{
    ClaimedJob job;
    job.id = result.number(row, "id");
    job.attempt = static_cast<int>(result.number(row, "attempt"));
    job.queue = result.text(row, "queue");
    job.type = result.text(row, "job_type");
    job.key = result.get(row, "job_key");
    job.data = result.text(row, "job_data");
    job.deadline = result.text(row, "deadline_text");
    job.times_out = time_out_of(result, row);
    job.retry_count = static_cast<int>(result.number(row, "retry_count"));
    job.max_retries = static_cast<int>(result.number(row, "max_retries"));
    job.scheduled_run_time = result.text(row, "scheduled_run_time");
    job.created_time = result.text(row, "created_time");
    if (result.get(row, "original_job_id"))
        job.original_job_id = result.number(row, "original_job_id");
    job.traceparent = result.get(row, "traceparent");
    return job;
}

}  // namespace hipq::client
