// Formats a length of time for people.
#pragma once

#include <cstdint>
#include <string>

namespace hipq::core {

// Rounds up to a second: "45 s", "2 min 10 s", "1 h", "3 days 4 h". Shows the two largest units,
// and so omits smaller ones from an hour on. Negative lengths are shown as "0 s".
std::string length_text(std::int64_t microseconds);

}  // namespace hipq::core
