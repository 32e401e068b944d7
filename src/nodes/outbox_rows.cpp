// Writes jobs that go to other nodes into hipq.shard_outbox.
#include "nodes/nodes.hpp"

#include "job/job_row.hpp"
#include "job/json_array.hpp"
#include "nodes/job_json.hpp"
#include "pg/internal_write.hpp"

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
pg::RawValue Parcels::json_for(Parcel &parcel, const job::RowValues &job) const
{
    if (kind_ != "jobs")
        return json_of(job);
    if (!parcel.first.has_value()) {
        parcel.first = copy_of(job);
        return json_of(job);
    }
    if (parcel.jobs.size() == 1)
        parcel.jobs.front() = json_of(*parcel.first, *parcel.first);
    return json_of(job, *parcel.first);
}

void Parcels::add(const job::RowValues &job, int node)
{
    Parcel &parcel = parcels_[node];
    const pg::RawValue json = json_for(parcel, job);
    parcel.jobs.push_back(json);
    parcel.bytes += VARSIZE_ANY(DatumGetPointer(json.value));
    if (parcel.jobs.size() >= most_jobs || parcel.bytes >= most_bytes)
        send(node, parcel);
}

void Parcels::send(int node, Parcel &parcel)
{
    if (parcel.jobs.empty())
        return;
    const pg::RawValue jobs = job::array_of(parcel.jobs);
    const pg::RawValue shared = parcel.first.has_value() && parcel.jobs.size() > 1
                                    ? shared_json_of(*parcel.first)
                                    : pg::RawValue{JSONBOID, Datum{0}, true};
    pg::as_hipq([&] {
        insert_jobs.run(queue_->instance, queue_->shards->own_node, node, queue_->name, jobs, kind_,
                        shared);
    });
    parcel = Parcel{};
}

void Parcels::send()
{
    for (auto &[node, parcel] : parcels_)
        send(node, parcel);
}

}  // namespace hipq::nodes
