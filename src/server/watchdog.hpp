// The launcher's part in the alarm (stalls.hpp). Only the scheduler, which reads the tables, can
// decide whether a job should have started. But no scheduler may be running, because commits
// request executors themselves, or the scheduler itself may be stuck. So the launcher, which always
// runs, makes sure that a scheduler looks.
#pragma once

#include "shared/databases/launcher_slots.hpp"

namespace hipq::server {

struct Watchdog {
    struct Late {
        databases::AwaitedLook look;
        pg::Time since;  // by the real clock
        bool is_reported;
    };
    std::vector<Late> late{};
};

// Requests a look at databases in which a job has been due, or prefetched by an executor, for a
// second without a look since then. Raises the alarm for schedulers that have not looked for 5 s
// although they should, or whose look takes a minute. Uses shared memory only. Returns after how
// many microseconds to call it again at the latest.
std::int64_t watch_schedulers(Watchdog &watchdog);

}  // namespace hipq::server
