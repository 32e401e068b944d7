// Writes jobs that are sent to other nodes.
#pragma once

#include "catalog/catalog.hpp"
#include "job/job.hpp"

namespace hipq::nodes {

// Collects the jobs of one statement and one queue by target node, and writes them to
// hipq.shard_outbox: at most 1,000 jobs or about 1 MB per row, because a row costs as much as
// hundreds of jobs. The values that new jobs of a row share are stored once, in its body. add()
// copies the job. Needs a transaction; jobs that are not sent are lost.
class Parcels {
public:
    // `kind` says whether the jobs are new, or moved ones, which have been in a queue before and
    // have their keys.
    explicit Parcels(const catalog::Queue &queue, std::string_view kind = "jobs")
        : queue_(&queue), kind_(kind)
    {
    }
    void add(const job::RowValues &job, int node);
    void send();

private:
    struct Parcel {
        std::optional<job::RowValues> first{};
        std::vector<pg::RawValue> jobs;
        std::size_t bytes = 0;
    };
    pg::RawValue json_for(Parcel &parcel, const job::RowValues &job) const;
    void send(int node, Parcel &parcel);

    const catalog::Queue *queue_;
    std::string kind_;
    std::map<int, Parcel> parcels_;
};

}  // namespace hipq::nodes
