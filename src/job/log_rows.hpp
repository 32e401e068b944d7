// The rows of hipq.attempt_log: log entries of handlers.
#pragma once

#include "pg/clock.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hipq::job {

struct LogEntry {
    pg::Time time;
    std::string level;
    std::string sqlstate;
    std::string message;
    std::optional<std::string> detail{};
    std::optional<std::string> hint{};
    std::optional<std::string> context{};
};

// Writes the log entries of an attempt. Call this and the others inside as_hipq() only.
void write_log(int queue_id, std::int64_t job_id, int attempt, std::span<const LogEntry> entries);

// Moves the log entries of jobs to the queue that the jobs are moved to.
void move_log(int from_queue_id, int to_queue_id, const std::vector<std::int64_t> &job_ids);

// Deletes the log entries of a job.
void erase_log(int queue_id, std::int64_t job_id);

}  // namespace hipq::job
