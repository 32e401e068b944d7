// The timer of running user code. It cancels at the deadline, and each second after it, for
// handlers that catch the cancellation.
#pragma once

#include "pg/spi.hpp"

namespace hipq::execute {

// Registers the timer. Call once per process.
void prepare_deadline();

// Starts the timer, which fires at `end` by the real clock. Only one can run at a time.
void arm_deadline(pg::Time end);

// Stops the timer. Returns whether the deadline was missed. Raises nothing.
bool disarm_deadline() noexcept;

}  // namespace hipq::execute
