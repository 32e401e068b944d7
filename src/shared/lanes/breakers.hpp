// The breakers of job types in shared memory: whether jobs may start, what is to be written to
// hipq.breaker_state. Jobs are admitted together with their capacity (capacity.hpp); how attempts
// end is noted at commit (shared/executors/breaker_notes.hpp).
#pragma once

#include "pg/postgres.hpp"
#include "core/limits/breaker_table.hpp"

#include <optional>
#include <vector>

namespace hipq::lanes {

// What a breaker says of the next job.
struct BreakerLook {
    core::Breaker::Answer answer;
    std::int64_t wait;     // microseconds until another look is worth it; 0: jobs may start now
    bool has_room = true;  // false: shared memory has no room for the breaker
};
BreakerLook look_at_breaker(const core::LimiterName &name, const core::StartBreaker &breaker);

// The breaker of a type as shared memory has it. Nothing: it has no entry.
struct KnownBreaker {
    core::LimiterName name;
    core::BreakerState state;
    bool has_probe;
    core::BreakerOpening opening;
    std::int64_t change;
};
std::optional<KnownBreaker> find_breaker(const core::LimiterName &name);

// The breakers of this database whose latest change is not in hipq.breaker_state.
std::vector<core::LimiterName> unsaved_breakers();
// A change of a breaker has been written, and committed.
void note_breaker_saved(const core::LimiterName &name, std::int64_t change) noexcept;

}  // namespace hipq::lanes
