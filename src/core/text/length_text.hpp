// How long something takes, in words for people.
#pragma once

#include <cstdint>
#include <string>

namespace hipq::core {

// Of so many microseconds, rounded up to a second: "45 s", "2 min 10 s", "1 h", "3 days 4 h". The
// two largest units are told; what is left of them is left out from an hour on. Negative lengths
// are none: "0 s".
std::string length_text(std::int64_t microseconds);

}  // namespace hipq::core
