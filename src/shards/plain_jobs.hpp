// Jobs from before their instance had shards.
#pragma once

#include "catalog/cache.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace hipq::shards {

// Jobs and their slots, in parallel arrays.
struct PlacedJobs {
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> slots;

    void add(std::int64_t id, int slot)
    {
        ids.push_back(id);
        slots.push_back(slot);
    }
};

// Adds the jobs after `after`, in one portion of the queue, that new jobs of leaving slots have to
// wait for. Returns the end of the portion; nothing: there is none. Call in a transaction, as hipq.
std::optional<std::int64_t> look_at_plain_jobs(const catalog::Queue &queue, std::int64_t after,
                                               PlacedJobs &found);

}  // namespace hipq::shards
