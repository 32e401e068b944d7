// Jobs on their way to other nodes.
#pragma once

#include "catalog/catalog.hpp"
#include "job/job.hpp"

namespace hipq::nodes {

// Collects the jobs of one statement, of one queue, by the node that they are for, and writes them
// to hipq.shard_outbox: at most 1,000 jobs or about 1 MB to a row, since a row costs what hundreds
// of jobs do. What new jobs of a row have in common is in its body, once. What is added is copied.
// Needs a transaction; what is not sent is lost.
class Parcels {
public:
    // `kind`: jobs, or moved ones, which have been in a queue before and have their keys.
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
