// A walk over a live leaf in the order of ids, piece by piece.
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
    std::vector<std::int64_t> unreadable;  // that are no jobs (job::is_unreadable)
    Oid leaf;
    std::optional<std::int64_t>
        position;  // where the walk goes on; nothing: it has come to the end
};

// The jobs that wait, due or not, after an id. Looks at so many entries of the index at most,
// whether there is a row behind them or one that is gone. Needs a transaction.
WaitingRows read_waiting(const catalog::Queue &queue, std::int64_t after, std::size_t entries,
                         pg::Time now);

}  // namespace hipq::claim
