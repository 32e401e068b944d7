// How a job that has to stop is stopped: its code is cancelled, and again, then its process is
// terminated; one that outlives even that is reported. Pure rules; who sends the signals is in
// shared/executors/stop_control.hpp.
#pragma once

#include <cstdint>
#include <optional>

#include "core/time.hpp"

namespace hipq::core {

// Times are microseconds of one clock.
inline constexpr std::int64_t cancel_interval = 1'000'000;

// A job whose code runs.
struct Stopping {
    std::int64_t deadline;                     // its own timer cancels from then on
    std::optional<std::int64_t> requested;     // when somebody asked for it to be cancelled
    std::int64_t last_cancelled;               // for that request
    std::optional<std::int64_t> terminated{};  // when its process was told to end
    bool is_reported = false;                  // as one that did not
};

enum class StopAction : unsigned char { wait, cancel, terminate, report };

struct StopStep {
    StopAction action;
    std::int64_t next;  // when to ask again; never: nothing follows, or nothing that its own timer
                        // would not bring on
};

// What is to be done now. `grace` is the time between the first cancellation and the termination.
StopStep next_stop_step(const Stopping &job, std::int64_t now, std::int64_t grace);

}  // namespace hipq::core
