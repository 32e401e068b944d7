// The rows of hipq.attempt_log: what handlers have said.
#pragma once

#include "catalog/catalog.hpp"

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

// Writes what was said in an attempt; needs as_hipq, as the others.
void write_log(int queue_id, std::int64_t job_id, int attempt, std::span<const LogEntry> entries);

// Gives what jobs have said to the queue that they are moved to.
void move_log(int from_queue_id, int to_queue_id, const std::vector<std::int64_t> &job_ids);

// Removes what a job has said.
void erase_log(int queue_id, std::int64_t job_id);

}  // namespace hipq::job
