// Keeps track of the jobs that handlers of dead letters have made.
//
// They are in a table of their own: a column would burden every job, and few jobs are made by
// handlers.
#include "job/made_by_handler.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "pg/internal_write.hpp"

#include <set>

namespace hipq::job {

namespace {

constinit pg::Statement insert_made(R"(
    INSERT INTO hipq.made_by_handler (queue_id, job_id)
    SELECT made.queue_id, made.job_id FROM unnest($1, $2) AS made(queue_id, job_id)
    ON CONFLICT DO NOTHING)");

constinit pg::Statement update_queue("UPDATE hipq.made_by_handler AS made SET queue_id = $3 WHERE "
                                     "made.queue_id = $2 AND made.job_id = ANY ($1)");

constinit pg::Statement
    select_queues_with_made_jobs("SELECT DISTINCT made.queue_id FROM hipq.made_by_handler AS made");

constexpr const char *delete_finished_sql = R"(
    DELETE FROM hipq.made_by_handler AS made
    WHERE made.queue_id = $1 AND NOT EXISTS (SELECT FROM {live} AS job WHERE job.id = made.job_id))";

constinit MadeJobs *present = nullptr;

}  // namespace

MadeJobs::MadeJobs()
{
    present = this;
}

MadeJobs::~MadeJobs()
{
    present = nullptr;
}

void MadeJobs::write() const
{
    if (!ids_.empty())
        pg::as_hipq([&] { insert_made.run(queues_, ids_); });
}

bool is_handling_letter() noexcept
{
    return present != nullptr;
}

void note_made_job(std::int64_t id, int queue_id)
{
    if (present == nullptr)
        return;
    present->ids_.push_back(id);
    present->queues_.push_back(queue_id);
}

void move_made_jobs(const std::vector<std::int64_t> &ids, const catalog::Queue &from,
                    const catalog::Queue &to)
{
    pg::as_hipq([&] { update_queue.run(ids, std::int32_t{from.id}, std::int32_t{to.id}); });
    if (present == nullptr)
        return;
    const std::set<std::int64_t> moved(ids.begin(), ids.end());
    for (std::size_t i = 0; i < present->ids_.size(); ++i)
        if (moved.contains(present->ids_[i]))
            present->queues_[i] = to.id;
}

std::vector<int> queues_with_made_jobs()
{
    const pg::Rows rows = pg::as_hipq([] { return select_queues_with_made_jobs.run(); });
    std::vector<int> ids;
    for (const pg::Row row : rows)
        ids.push_back(row.integer32(0));
    return ids;
}

void prune_made_jobs(const catalog::Queue &queue)
{
    pg::as_hipq(
        [&] { catalog::statement_for(queue, delete_finished_sql).run(std::int32_t{queue.id}); });
}

}  // namespace hipq::job
