// The timer of running user code: cancels at the deadline, and again each second for handlers that
// catch the cancellation.
#pragma once

#include "pg/spi.hpp"

namespace hipq::execute {

// Once per process. C++ regime.
void prepare_deadline();

// Starts the timer, which rings at `end` by the real clock. One at a time.
void arm_deadline(pg::Time end);

// Stops it. Returns whether the deadline was missed. Raises nothing.
bool disarm_deadline() noexcept;

}  // namespace hipq::execute
