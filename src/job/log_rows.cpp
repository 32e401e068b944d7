// Writes, moves and deletes the rows of hipq.attempt_log.
#include "job/log_rows.hpp"

#include "pg/spi.hpp"

namespace hipq::job {

namespace {

constinit pg::Statement insert_entry(R"(
    INSERT INTO hipq.attempt_log (job_id, logged_time, queue_id, attempt, level, sqlstate, message, detail, hint, context)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10))");

constinit pg::Statement move_entries(
    "UPDATE hipq.attempt_log SET queue_id = $2 WHERE queue_id = $1 AND job_id = ANY ($3)");

constinit pg::Statement
    delete_entries("DELETE FROM hipq.attempt_log WHERE queue_id = $1 AND job_id = $2");

}  // namespace

void write_log(int queue_id, std::int64_t job_id, int attempt, std::span<const LogEntry> entries)
{
    for (const LogEntry &entry : entries)
        insert_entry.run(job_id, entry.time, std::int32_t{queue_id}, std::int32_t{attempt},
                         entry.level, entry.sqlstate, entry.message, entry.detail, entry.hint,
                         entry.context);
}

void move_log(int from_queue_id, int to_queue_id, const std::vector<std::int64_t> &job_ids)
{
    move_entries.run(std::int32_t{from_queue_id}, std::int32_t{to_queue_id}, job_ids);
}

void erase_log(int queue_id, std::int64_t job_id)
{
    delete_entries.run(std::int32_t{queue_id}, job_id);
}

}  // namespace hipq::job
