// Parses rates, and writes their canonical text.
#include "core/limits/rate_text.hpp"

#include "core/text/characters.hpp"

#include <array>

namespace hipq::core {

namespace {

constexpr Weight largest_rate = 999'999'999;  // thousandths
constexpr std::int64_t longest_period = 31 * 86'400 * microseconds_per_second;

struct RateUnit {
    std::string_view name;
    std::int64_t seconds;
};
// The first name of each length is the canonical one; longer units come first.
constexpr std::array<RateUnit, 13> rate_units{{{"day", 86'400},
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

class RateParser {
public:
    explicit RateParser(std::string_view text) : text_(text) {}

    std::variant<Rate, ParseProblem> parse()
    {
        Rate rate;
        if (!take_number(rate.weight))
            return problem("expected a number such as 100");
        if (rate.weight < weight_unit || rate.weight > largest_rate)
            return problem("the number must be from 1 to 999999.999");
        if (!take_word("/") && !take_word("per"))
            return problem("expected \"/\" and a unit of time, such as 100/min");
        std::int64_t count = 1;
        if (!take_count(count))
            return problem("the number of units is too large");
        const std::int64_t seconds = take_unit();
        if (seconds == 0)
            return problem("expected a unit of time: s, min, h or day");
        skip_blanks();
        if (place_ < text_.size())
            return problem("expected the end of the text");
        rate.period = count * seconds * microseconds_per_second;
        if (rate.period == 0 || rate.period > longest_period)
            return problem("the period must be from 1 second to 31 days");
        return rate;
    }

private:
    ParseProblem problem(const char *message) const { return {place_ + 1, message}; }
    void skip_blanks()
    {
        while (place_ < text_.size() && text_[place_] == ' ')
            ++place_;
    }
    bool is_digit() const { return place_ < text_.size() && core::is_digit(text_[place_]); }

    // Reads digits; false: there are none, or more than fit.
    bool take_digits(std::int64_t &number, std::size_t most)
    {
        const std::size_t begin = place_;
        for (; is_digit(); ++place_)
            if (place_ - begin < most)
                number = number * 10 + (text_[place_] - '0');
        return place_ > begin && place_ - begin <= most;
    }

    bool take_number(Weight &weight)
    {
        constexpr std::size_t most_digits = 9;
        constexpr std::size_t decimals = 3;
        skip_blanks();
        std::int64_t whole = 0;
        if (!take_digits(whole, most_digits))
            return false;
        weight = whole * weight_unit;
        if (place_ >= text_.size() || text_[place_] != '.')
            return true;
        const std::size_t begin = ++place_;
        std::int64_t part = 0;
        if (!take_digits(part, decimals))
            return false;
        for (std::size_t i = place_ - begin; i < decimals; ++i)
            part *= 10;
        weight += part;
        return true;
    }

    // True also if there is no count.
    bool take_count(std::int64_t &count)
    {
        constexpr std::size_t most_digits = 7;
        skip_blanks();
        if (!is_digit())
            return true;
        count = 0;
        return take_digits(count, most_digits);
    }

    bool take_word(std::string_view word)
    {
        skip_blanks();
        if (text_.substr(place_, word.size()) != word)
            return false;
        place_ += word.size();
        return true;
    }

    // Returns the length of the unit in seconds; 0: there is none.
    std::int64_t take_unit()
    {
        skip_blanks();
        std::size_t end = place_;
        while (end < text_.size() && text_[end] >= 'a' && text_[end] <= 'z')
            ++end;
        const std::string_view word = text_.substr(place_, end - place_);
        for (const RateUnit &unit : rate_units)
            if (unit.name == word) {
                place_ = end;
                return unit.seconds;
            }
        return 0;
    }

    std::string_view text_;
    std::size_t place_ = 0;
};

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
    return RateParser(text).parse();
}

std::string canonical(const Rate &rate)
{
    const std::int64_t seconds = rate.period / microseconds_per_second;
    std::string text = text_of_weight(rate.weight) + "/";
    for (const RateUnit &unit : rate_units)
        if (seconds % unit.seconds == 0) {
            if (seconds != unit.seconds)
                text.append(std::to_string(seconds / unit.seconds)).append(" ");
            return text.append(unit.name);
        }
    return text;
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
