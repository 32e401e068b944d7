// When a live leaf is vacuumed. Every job leaves a dead row there; autovacuum comes round once a
// minute and takes its time, while a busy queue leaves a million.
#pragma once

#include <cstdint>

namespace hipq::core {

// Rows of a leaf, as the statistics have them.
struct LeafUse {
    std::int64_t live;
    std::int64_t dead;
};

// Times in microseconds. `horizon`: the oldest transaction that anybody may still look back to.
struct LastVacuum {
    std::int64_t ended = 0;
    std::int64_t duration = 0;
    std::uint32_t horizon = 0;
};

enum class VacuumNeed : unsigned char {
    none,     // not worth it yet
    blocked,  // somebody's old snapshot keeps what is dead, as the last time
    later,    // the last one was just now
    now
};

// Worth it from 10,000 dead rows and a fifth of the live ones on; at most every second, and a tenth
// of one processor's time.
VacuumNeed vacuum_need(LeafUse use, LastVacuum last, std::uint32_t horizon, std::int64_t now);

}  // namespace hipq::core
