// Walks over a live leaf in the order of ids, piece by piece.
#pragma once

#include "catalog/cache.hpp"
#include "core/lanes/lane.hpp"

namespace hipq::claim {

struct WaitingRow {
    std::string job_type;
    int priority;
    core::LaneKey key;
    std::string throttle_key;
};

struct WaitingRows {
    std::vector<WaitingRow> rows;
    std::vector<std::int64_t> unreadable;  // ids of rows that are no jobs (job::is_unreadable)
    Oid leaf;
    std::optional<std::int64_t> position;  // where to continue; nothing: the walk is at the end
};

// Returns the waiting jobs, due or not but not held, with ids after `after`. Reads at most
// `entries` index entries, counting those of removed rows too. Needs a transaction.
WaitingRows read_waiting(const catalog::Queue &queue, std::int64_t after, std::size_t entries,
                         pg::Time now);

}  // namespace hipq::claim
