// What an operator should know: something in shared memory is full, and hipq goes a slower way.
#pragma once

#include "memory/registry.hpp"

namespace hipq::memory {

// Notes that it has just happened. Needs the lock; straight-line code.
void note_alert(Alert alert) noexcept;
// The same without the lock.
void raise_alert(Alert alert) noexcept;

// What has happened within the last five minutes.
struct PresentAlert {
    Alert alert;
    AlertRecord record;
};
std::vector<PresentAlert> present_alerts();

}  // namespace hipq::memory
