// Finds jobs that nobody has in flight any more, of executors that ended and of the server's last
// life, and has them rescued.
#pragma once

#include "recovery/rescue.hpp"

namespace hipq::recovery {

// How far a scheduler has come.
struct Recovery {
    std::optional<unsigned> reads_for;  // databases::recovery_due() when it began to read the
                                        // leaves; nothing: it does not read
    unsigned has_read_for = 0;          // what that was when all had been read
    std::vector<int> queues;            // whose live leaves are to be read, last first
    std::vector<int> unread{};          // that could not be read the last time
    int queue = 0;                      // the one being read
    std::int64_t page = 0;
    std::int64_t end_page = 0;
    std::vector<Left> found;
    std::vector<Left> later;
    PostponedJobs postponed;
    std::int64_t pause = 0;  // how long the scheduler's other work took since the last call; us
};

// Works for a moment, and as long at least as the other work took (a look at a lane that begins
// with many rows in `running` takes long, and there will be fewer of them), in its own
// transactions. What executors of this life and the flight recorder know of comes first, then the
// live leaves are read piece by piece. Returns when to be called again: at once while there is more
// to read, infinity when nothing is left.
pg::Time recover(Recovery &recovery);

}  // namespace hipq::recovery
