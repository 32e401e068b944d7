// Reads and writes rows of hipq.graph_job.
#include "job/graph_rows.hpp"

#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"

namespace hipq::job {

namespace {

constinit pg::Statement insert_jobs(R"(
    INSERT INTO hipq.graph_job (graph_id, name, job_id, queue_id)
    SELECT $1, job.name, job.id, job.queue_id::integer
    FROM unnest($2, $3, $4) AS job (name, id, queue_id))");

constinit pg::Statement insert_pairs(R"(
    INSERT INTO hipq.dependency (queue_id, job_id, before_id, before_queue_id, after_policy, on_failure)
    SELECT pair.queue_id::integer, pair.job_id, pair.before_id, pair.before_queue_id::integer, pair.after_policy, pair.on_failure
    FROM unnest($1, $2, $3, $4, $5, $6)
        AS pair (queue_id, job_id, before_id, before_queue_id, after_policy, on_failure))");

// The graph of $1, which is a job of it, or the graph: a graph keeps its number when its first job
// was made again, or is gone.
#define HIPQ_GRAPH_OF_1 "coalesce((SELECT graph_id FROM hipq.graph_job WHERE job_id = $1), $1)"

constinit pg::Statement select_members(R"(
    SELECT member.job_id, member.queue_id
    FROM hipq.graph_job AS member
    WHERE member.graph_id = )" HIPQ_GRAPH_OF_1 R"(
    ORDER BY member.job_id)");

constinit pg::Statement select_by_name(R"(
    SELECT named.job_id, named.queue_id
    FROM hipq.graph_job AS named
    WHERE named.graph_id = )" HIPQ_GRAPH_OF_1 R"( AND named.name = $2)");

}  // namespace

void GraphRows::add(int queue_id, std::int64_t job_id, const std::string &name, const After &after)
{
    queues_.push_back(queue_id);
    ids_.push_back(job_id);
    names_.push_back(name);
    for (const JobBefore &before : after.jobs) {
        later_queues_.push_back(queue_id);
        later_.push_back(job_id);
        earlier_.push_back(before.id);
        earlier_queues_.push_back(before.queue_id);
        policies_.emplace_back(core::name(after.policy));
        reactions_.emplace_back(core::name(after.on_failure));
    }
}

void GraphRows::write()
{
    if (ids_.empty())
        return;
    pg::as_hipq([&] {
        insert_jobs.run(*std::ranges::min_element(ids_), names_, ids_, queues_);
        if (!later_.empty())
            insert_pairs.run(later_queues_, later_, earlier_, earlier_queues_, policies_,
                             reactions_);
    });
}

std::vector<JobBefore> jobs_of_graph(std::int64_t id)
{
    std::vector<JobBefore> jobs;
    for (const pg::Row row : pg::as_hipq([&] { return select_members.run(id); }))
        jobs.push_back({row.integer(0), row.integer32(1)});
    return jobs;
}

std::optional<JobBefore> job_of_graph(std::int64_t id, std::string_view name)
{
    const pg::Rows rows = pg::as_hipq([&] { return select_by_name.run(id, name); });
    if (rows.empty())
        return std::nullopt;
    return JobBefore{rows.front().integer(0), rows.front().integer32(1)};
}

}  // namespace hipq::job
