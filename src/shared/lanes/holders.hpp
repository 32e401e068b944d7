// Who holds capacity under a throttle limit: for those who look, not for those who claim
// (capacity.hpp).
#pragma once

#include "shared/lanes/in_flight_table.hpp"

namespace hipq::lanes {

struct Holder {
    std::int64_t job_id;
    core::Weight weight;
};

// What runs under a limit: of a queue (no type), a type (no key), or a throttle key.
struct Usage {
    core::Weight used = 0;
    std::int32_t jobs = 0;
    std::vector<Holder> holders{};  // the heaviest of them first, those that weigh nothing left out
};

// Of this database.
Usage usage_of(int queue_id, std::uint64_t type, std::uint64_t key);

}  // namespace hipq::lanes
