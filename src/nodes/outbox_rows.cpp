// Writes jobs that go to other nodes into hipq.shard_outbox.
#include "nodes/nodes.hpp"

#include "job/job_row.hpp"
#include "nodes/job_json.hpp"
#include "pg/internal_write.hpp"
#include "pg/json_array.hpp"

namespace hipq::nodes {

namespace {

constexpr std::size_t most_jobs = 1'000;
constexpr std::size_t most_bytes = 1'000'000;

constinit pg::Statement insert_jobs(R"(
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, queue, jobs, body)
    VALUES ($1, $2, $3, $6, $4, $5, $7))");

}  // namespace

// The first job is written whole until there is a second one: a single job shares nothing. Moved
// jobs are always written whole, as in rows that SQL writes.
pg::RawValue OutboxRows::json_for(OutboxRow &row, const job::RowValues &job) const
{
    if (kind_ != "jobs")
        return json_of(job);
    if (!row.first.has_value()) {
        row.first = copy_of(job);
        return json_of(job);
    }
    if (row.jobs.size() == 1)
        row.jobs.front() = json_of(*row.first, *row.first);
    return json_of(job, *row.first);
}

void OutboxRows::add(const job::RowValues &job, int node)
{
    OutboxRow &row = rows_[node];
    const pg::RawValue json = json_for(row, job);
    row.jobs.push_back(json);
    row.bytes += VARSIZE_ANY(DatumGetPointer(json.value));
    if (row.jobs.size() >= most_jobs || row.bytes >= most_bytes)
        send(node, row);
}

void OutboxRows::send(int node, OutboxRow &row)
{
    if (row.jobs.empty())
        return;
    const pg::RawValue jobs = pg::array_of(row.jobs);
    const pg::RawValue shared = row.first.has_value() && row.jobs.size() > 1
                                    ? shared_json_of(*row.first)
                                    : pg::RawValue{JSONBOID, Datum{0}, true};
    pg::as_hipq([&] {
        insert_jobs.run(queue_->instance, queue_->shards->own_node, node, queue_->name, jobs, kind_,
                        shared);
    });
    row = OutboxRow{};
}

void OutboxRows::send()
{
    for (auto &[node, row] : rows_)
        send(node, row);
}

}  // namespace hipq::nodes
