// When to vacuum a live leaf. Every job leaves a dead row there; autovacuum comes once a minute and
// works slowly, while a busy queue leaves a million dead rows.
#pragma once

#include <cstdint>

namespace hipq::core {

// Row counts of a leaf, from the statistics.
struct LeafUse {
    std::int64_t live;
    std::int64_t dead;
};

// Times in microseconds. `horizon`: the oldest transaction that any snapshot may still need.
struct LastVacuum {
    std::int64_t ended = 0;
    std::int64_t duration = 0;
    std::uint32_t horizon = 0;
};

enum class VacuumNeed : unsigned char {
    none,     // not worth it yet
    blocked,  // an old snapshot still keeps the dead rows, as at the last vacuum
    later,    // the last vacuum was too recent
    now
};

// A vacuum is due from 10,000 dead rows that are also a fifth of the live rows; at most once a
// second, and at most for a tenth of one processor's time.
VacuumNeed vacuum_need(LeafUse use, LastVacuum last, std::uint32_t horizon, std::int64_t now);

}  // namespace hipq::core
