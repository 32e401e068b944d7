// How to stop a job: its code is cancelled, repeatedly, then its process is terminated; a process
// that survives even that is reported. Pure rules; shared/executors/stop_control.hpp has the
// signals.
#pragma once

#include <cstdint>
#include <optional>

#include "core/time.hpp"

namespace hipq::core {

// All times are microseconds of one clock.
inline constexpr std::int64_t cancel_interval = 1'000'000;

// A job whose code runs.
struct Stopping {
    std::int64_t deadline;                     // from then on its own timer cancels
    std::optional<std::int64_t> requested;     // when a user requested its cancellation
    std::int64_t last_cancelled;               // for that request
    std::optional<std::int64_t> terminated{};  // when its process was told to end
    bool is_reported = false;                  // as a process that did not end
};

enum class StopAction : unsigned char { wait, cancel, terminate, report };

struct StopStep {
    StopAction action;
    std::int64_t next;  // when to call again; never: nothing follows, or only what the job's own
                        // timer triggers
};

// Returns what to do now. `grace` is the time between the first cancellation and the termination.
StopStep next_stop_step(const Stopping &job, std::int64_t now, std::int64_t grace);

}  // namespace hipq::core
