// Formats a length of time by division, unit by unit, and looks for units in a text.
#include "core/text/length_text.hpp"

#include <algorithm>
#include <array>

#include "core/text/characters.hpp"
#include "core/time.hpp"

namespace hipq::core {

namespace {

struct Unit {
    std::int64_t seconds;
    std::string_view one;
    std::string_view many;
};
constexpr std::array<Unit, 4> units{
    {{86'400, " day", " days"}, {3'600, " h", " h"}, {60, " min", " min"}, {1, " s", " s"}}};

std::string text_of(std::int64_t count, const Unit &unit)
{
    return std::to_string(count).append(count == 1 ? unit.one : unit.many);
}

}  // namespace

std::string length_text(std::int64_t microseconds)
{
    std::int64_t seconds = microseconds <= 0 ? 0 : (microseconds - 1) / microseconds_per_second + 1;
    for (std::size_t i = 0; i + 1 < units.size(); ++i) {
        if (seconds < units[i].seconds)
            continue;
        const std::int64_t rest = seconds % units[i].seconds / units[i + 1].seconds;
        const std::string first = text_of(seconds / units[i].seconds, units[i]);
        return rest == 0 ? first : first + " " + text_of(rest, units[i + 1]);
    }
    return text_of(seconds, units.back());
}

bool names_unit(std::string_view text)
{
    const auto is_letter = [](char c) { return is_lower(to_lower(c)); };
    bool any = false;
    for (auto c = std::ranges::find_if(text, is_letter); c != text.end();) {
        const auto end = std::find_if_not(c, text.end(), is_letter);
        if (equals_ignoring_case({c, end}, "dec"))
            return false;
        any = true;
        c = std::find_if(end, text.end(), is_letter);
    }
    return any;
}

}  // namespace hipq::core
