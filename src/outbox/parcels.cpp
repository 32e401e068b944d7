// Writes jobs that go to other nodes into hipq.shard_outbox.
#include "parcels.hpp"

#include "outbox/job_json.hpp"
#include "pg/internal_write.hpp"

namespace hipq::outbox {

namespace {

constexpr std::size_t most_jobs = 1'000;
constexpr std::size_t most_bytes = 1'000'000;

constinit pg::Statement insert_jobs(R"(
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, queue, jobs)
    VALUES ($1, $2, $3, $6, $4, $5))");

}  // namespace

void Parcels::add(const job::RowValues &job, int node)
{
    const pg::RawValue json = json_of(job);
    Parcel &parcel = parcels_[node];
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
    pg::as_hipq([&] {
        insert_jobs.run(queue_->instance, queue_->shards->own_node, node, queue_->name, jobs,
                        kind_);
    });
    parcel = Parcel{};
}

void Parcels::send()
{
    for (auto &[node, parcel] : parcels_)
        send(node, parcel);
}

}  // namespace hipq::outbox
