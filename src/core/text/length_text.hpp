// Formats a length of time for people, and recognizes one that people wrote.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hipq::core {

// Rounds up to a second: "45 s", "2 min 10 s", "1 h", "3 days 4 h". Shows the two largest units,
// and so omits smaller ones from an hour on. Negative lengths are shown as "0 s".
std::string length_text(std::int64_t microseconds);

// Whether a text that is no time names a unit, so that it can only be a length of time: "2 hours",
// "PT2H". PostgreSQL also reads as intervals what people mean as times: "18:00", "2026-12", and
// "24 dec", with 24 decades.
bool names_unit(std::string_view text);

}  // namespace hipq::core
