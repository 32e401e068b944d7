// Reads and writes the parts of short rules.
#include "core/limits/rule_text.hpp"

#include "core/text/characters.hpp"
#include "core/time.hpp"

#include <array>

namespace hipq::core {

namespace {

constexpr std::int64_t longest_length = 31 * 86'400 * microseconds_per_second;

struct TimeUnit {
    std::string_view name;
    std::int64_t seconds;
};
// The first name of each length is the canonical one; longer units come first.
constexpr std::array<TimeUnit, 13> time_units{{{"day", 86'400},
                                               {"days", 86'400},
                                               {"d", 86'400},
                                               {"h", 3'600},
                                               {"hour", 3'600},
                                               {"hours", 3'600},
                                               {"min", 60},
                                               {"minute", 60},
                                               {"minutes", 60},
                                               {"s", 1},
                                               {"sec", 1},
                                               {"second", 1},
                                               {"seconds", 1}}};

}  // namespace

void RuleReader::skip_blanks()
{
    while (place_ < text_.size() && text_[place_] == ' ')
        ++place_;
}

bool RuleReader::is_at_end()
{
    skip_blanks();
    return place_ >= text_.size();
}

bool RuleReader::is_at_digit()
{
    skip_blanks();
    return place_ < text_.size() && is_digit(text_[place_]);
}

std::optional<std::int64_t> RuleReader::take_number(std::size_t most)
{
    skip_blanks();
    const std::size_t begin = place_;
    std::int64_t number = 0;
    for (; place_ < text_.size() && is_digit(text_[place_]); ++place_)
        if (place_ - begin < most)
            number = number * 10 + (text_[place_] - '0');
    return place_ > begin && place_ - begin <= most ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> RuleReader::take_thousandths(std::size_t most)
{
    constexpr std::size_t decimals = 3;
    constexpr std::int64_t thousand = 1'000;
    const auto whole = take_number(most);
    if (!whole.has_value() || place_ >= text_.size() || text_[place_] != '.')
        return whole.has_value() ? std::optional(*whole * thousand) : std::nullopt;
    const std::size_t begin = ++place_;
    const bool has_part = begin < text_.size() && is_digit(text_[begin]);
    auto part = has_part ? take_number(decimals) : std::nullopt;
    if (!part.has_value())
        return std::nullopt;
    for (std::size_t i = place_ - begin; i < decimals; ++i)
        *part *= 10;
    return *whole * thousand + *part;
}

bool RuleReader::take_word(std::string_view word)
{
    skip_blanks();
    if (text_.substr(place_, word.size()) != word)
        return false;
    place_ += word.size();
    return true;
}

std::int64_t RuleReader::take_unit()
{
    skip_blanks();
    std::size_t end = place_;
    while (end < text_.size() && text_[end] >= 'a' && text_[end] <= 'z')
        ++end;
    const std::string_view word = text_.substr(place_, end - place_);
    for (const TimeUnit &unit : time_units)
        if (unit.name == word) {
            place_ = end;
            return unit.seconds;
        }
    return 0;
}

std::optional<std::int64_t> read_length(RuleReader &reader, const char *bounds,
                                        ParseProblem &problem)
{
    constexpr std::size_t most_digits = 7;
    const auto count =
        reader.is_at_digit() ? reader.take_number(most_digits) : std::optional<std::int64_t>(1);
    if (!count.has_value()) {
        problem = reader.problem("the number of units is too large");
        return std::nullopt;
    }
    const std::int64_t seconds = reader.take_unit();
    if (seconds == 0) {
        problem = reader.problem("expected a unit of time: s, min, h or day");
        return std::nullopt;
    }
    const std::int64_t length = *count * seconds * microseconds_per_second;
    if (length != 0 && length <= longest_length)
        return length;
    problem = reader.problem(bounds);
    return std::nullopt;
}

std::string text_of_length(std::int64_t microseconds, bool is_per)
{
    const std::int64_t seconds = microseconds / microseconds_per_second;
    for (const TimeUnit &unit : time_units)
        if (seconds % unit.seconds == 0) {
            const std::string count = std::to_string(seconds / unit.seconds) + " ";
            return (is_per && seconds == unit.seconds ? "" : count) + std::string(unit.name);
        }
    return "";
}

}  // namespace hipq::core
