// Parses the rules of breakers, and writes their canonical text.
#include "core/limits/breaker_text.hpp"

#include "core/limits/rule_text.hpp"

namespace hipq::core {

std::variant<BreakerRule, ParseProblem> parse_breaker(std::string_view text)
{
    constexpr std::int64_t whole = 100;
    constexpr std::int64_t most_attempts = 1'000'000;
    constexpr std::size_t most_digits = 7;
    constexpr const char *bounds = "the time must be from 1 second to 31 days";
    RuleReader reader(text);
    const auto percent = reader.take_number(most_digits);
    if (!percent.has_value())
        return reader.problem("expected a percentage such as 50%");
    if (*percent < 1 || *percent > whole)
        return reader.problem("the percentage must be from 1 to 100");
    if (!reader.take_word("%") || !reader.take_word("of"))
        return reader.problem("expected \"% of\" and a number of attempts");
    const auto attempts = reader.take_number(most_digits);
    if (!attempts.has_value() || *attempts < 1 || *attempts > most_attempts)
        return reader.problem("the number of attempts must be from 1 to 1000000");
    if (!reader.take_word("in"))
        return reader.problem("expected \"in\" and a time, such as in 1 min");
    ParseProblem problem{};
    const auto window = read_length(reader, bounds, problem);
    if (!window.has_value())
        return problem;
    if (!reader.take_word(",") || !reader.take_word("open"))
        return reader.problem("expected \", open\" and a time, such as open 30 s");
    const auto open = read_length(reader, bounds, problem);
    if (!open.has_value())
        return problem;
    if (!reader.is_at_end())
        return reader.problem("expected the end of the text");
    return BreakerRule{static_cast<std::int32_t>(*percent), static_cast<std::int32_t>(*attempts),
                       *window, *open};
}

std::string canonical(const BreakerRule &rule)
{
    return std::to_string(rule.percent) + "% of " + std::to_string(rule.attempts) + " in " +
           text_of_length(rule.window, false) + ", open " + text_of_length(rule.open, false);
}

std::string_view name(BreakerState state)
{
    switch (state) {
    case BreakerState::closed:
        return "closed";
    case BreakerState::open:
        return "open";
    case BreakerState::half_open:
        return "half open";
    }
    return "";
}

}  // namespace hipq::core
