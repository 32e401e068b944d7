// Parses rates, and writes their canonical text.
#include "core/limits/rate_text.hpp"

#include "core/limits/rule_text.hpp"

namespace hipq::core {

namespace {

constexpr Weight largest_rate = 999'999'999;  // thousandths

std::string text_of_weight(Weight weight)
{
    std::string text = std::to_string(weight / weight_unit);
    if (weight % weight_unit == 0)
        return text;
    text.append(".").append(std::to_string(weight_unit + weight % weight_unit).substr(1));
    text.erase(text.find_last_not_of('0') + 1);
    return text;
}

}  // namespace

std::variant<Rate, ParseProblem> parse_rate(std::string_view text)
{
    constexpr std::size_t most_digits = 9;
    RuleReader reader(text);
    const auto weight = reader.take_thousandths(most_digits);
    if (!weight.has_value())
        return reader.problem("expected a number such as 100");
    if (*weight < weight_unit || *weight > largest_rate)
        return reader.problem("the number must be from 1 to 999999.999");
    if (!reader.take_word("/") && !reader.take_word("per"))
        return reader.problem("expected \"/\" and a unit of time, such as 100/min");
    ParseProblem problem{};
    const auto period = read_length(reader, "the period must be from 1 second to 31 days", problem);
    if (!period.has_value())
        return problem;
    if (!reader.is_at_end())
        return reader.problem("expected the end of the text");
    return Rate{*weight, *period, RateMode::exact};
}

std::string canonical(const Rate &rate)
{
    return text_of_weight(rate.weight) + "/" + text_of_length(rate.period, true);
}

std::optional<RateMode> parse_rate_mode(std::string_view text)
{
    if (text == name(RateMode::exact))
        return RateMode::exact;
    if (text == name(RateMode::smooth))
        return RateMode::smooth;
    return std::nullopt;
}

std::string_view name(RateMode mode)
{
    return mode == RateMode::exact ? "exact" : "smooth";
}

}  // namespace hipq::core
