// Reads the parts of a short rule such as '100/min' or '50% of 20 in 1 min, open 30 s': numbers,
// words and lengths of time. Blanks may stand between the parts.
#pragma once

#include "core/limits/time_windows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hipq::core {

class RuleReader {
public:
    explicit RuleReader(std::string_view text) : text_(text) {}

    // At the present place.
    ParseProblem problem(const char *message) const { return {place_ + 1, message}; }
    bool is_at_end();
    bool is_at_digit();

    // Reads at most `most` digits. Nothing: there are none, or more.
    std::optional<std::int64_t> take_number(std::size_t most);
    // Reads a number with up to three decimals, in thousandths.
    std::optional<std::int64_t> take_thousandths(std::size_t most);
    // Returns false, and reads nothing, if another text comes next.
    bool take_word(std::string_view word);
    // Reads the name of a unit of time. Returns its length in seconds; 0: there is none.
    std::int64_t take_unit();

private:
    void skip_blanks();
    std::string_view text_;
    std::size_t place_ = 0;
};

// Reads '30 s', 'min', '2 hours', from 1 second to 31 days, in microseconds. The count is 1 if it
// is missing. `bounds`: what to say of other lengths.
std::optional<std::int64_t> read_length(RuleReader &reader, const char *bounds,
                                        ParseProblem &problem);

// 'min', '30 s': read_length() reads it; the count is left out if it is 1 and `is_per` is set.
std::string text_of_length(std::int64_t microseconds, bool is_per);

}  // namespace hipq::core
