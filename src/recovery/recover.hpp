// Finds jobs that no process has in flight any more, left by executors that ended or by a crash or
// restart of the server, and has them rescued.
#pragma once

#include "recovery/rescue.hpp"

namespace hipq::recovery {

// How far a scheduler has come.
struct Recovery {
    std::optional<unsigned> reads_for;  // databases::recovery_due() when it began to read the
                                        // leaves; nothing if it does not read
    unsigned has_read_for = 0;          // the value of reads_for of the last complete read
    std::vector<int> queues;            // queues whose live leaves are still to be read, last first
    std::vector<int> unread{};          // queues that could not be read the last time
    int queue = 0;                      // the queue being read
    std::int64_t page = 0;
    std::int64_t end_page = 0;
    std::vector<Left> found;
    std::vector<Left> later;
    PostponedJobs postponed;
    std::int64_t pause = 0;  // how long the scheduler's other work took since the last call; us
};

// Works for a moment, and at least as long as the other work took, in its own transactions.
// (Looking at a lane that begins with many rows in `running` takes long, and this makes them
// fewer.) First come the jobs that executors of this run of the server and the flight recorder
// know; then the live leaves are read piece by piece. Returns when to call it again: at once while
// there is more to read, infinity when nothing is left.
pg::Time recover(Recovery &recovery);

}  // namespace hipq::recovery
