// The launcher's part in the alarm (stalls.hpp). Whether a job should have started is for the
// scheduler to judge, which knows the tables; but none may be there, since commits ask for
// executors by themselves, and it may be the one that stands still. So the launcher, which is
// always there, sees to it that somebody looks.
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

// Has databases looked at in which a job has been due, or prefetched by an executor, for a second,
// and nobody has looked since; and raises the alarm over schedulers that have not looked for 5 s
// although they should, or whose look takes a minute. In shared memory only. Returns after how many
// microseconds it has to be called again at the latest.
std::int64_t watch_schedulers(Watchdog &watchdog);

}  // namespace hipq::server
