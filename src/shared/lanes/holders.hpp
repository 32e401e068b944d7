// Which jobs hold capacity under a throttle limit: for views; claims use capacity.hpp.
#pragma once

#include "core/limits/limiter_name.hpp"
#include "shared/lanes/in_flight_table.hpp"

namespace hipq::lanes {

struct Holder {
    std::int64_t job_id;
    core::Weight weight;
};

// What runs under a limit of a queue (no type), a type (no key), or a throttle key.
struct Usage {
    core::Weight used = 0;
    std::int32_t jobs = 0;
    std::vector<Holder> holders{};  // the heaviest first; jobs without weight are left out
};

// For a limit of this database.
Usage usage_of(int queue_id, std::uint64_t type, std::uint64_t key);

}  // namespace hipq::lanes
