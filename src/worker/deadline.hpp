// The timer of a running handler: cancels at the deadline, and again each second for handlers that catch the cancellation.
#pragma once

#include <cstdint>

namespace hipq::worker {

// Once per process. C++ regime.
void prepare_deadline();

// Starts the timer. One at a time.
void arm_deadline(std::int64_t seconds);

// Stops it and takes back a cancellation that has not struck yet. Returns whether the deadline was missed. Raises nothing.
bool disarm_deadline() noexcept;

}  // namespace hipq::worker
