// Reads cron expressions field by field, and searches day by day for the next run.
#include "core/schedules/cron.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <span>

#include "core/text/characters.hpp"

namespace hipq::core {

namespace {

// ---- reading ----

constexpr std::array<std::string_view, 12> month_names{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> weekday_names{"sun", "mon", "tue", "wed",
                                                        "thu", "fri", "sat"};

struct Field {
    std::string_view name;
    int low;
    int high;
    std::span<const std::string_view> names{};  // names of its values, from `low` upwards
};
constexpr Field second_field{"second", 0, 59};
constexpr Field minute_field{"minute", 0, 59};
constexpr Field hour_field{"hour", 0, 23};
constexpr Field day_of_month_field{"day of month", 1, 31};
constexpr Field month_field{"month", 1, 12, month_names};
constexpr Field day_of_week_field{"day of week", 0, 7, weekday_names};

struct Macro {
    std::string_view name;
    std::string_view fields;
};
constexpr std::array<Macro, 7> macros{{{"@hourly", "0 * * * *"},
                                       {"@daily", "0 0 * * *"},
                                       {"@midnight", "0 0 * * *"},
                                       {"@weekly", "0 0 * * 0"},
                                       {"@monthly", "0 0 1 * *"},
                                       {"@yearly", "0 0 1 1 *"},
                                       {"@annually", "0 0 1 1 *"}}};

bool is_word(char c)
{
    return is_digit(c) || is_lower(to_lower(c));
}

std::optional<int> number_of(std::string_view word)
{
    int number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    return error == std::errc() && end == word.data() + word.size() ? std::optional(number)
                                                                    : std::nullopt;
}

const Macro *find_macro(std::string_view name)
{
    const auto *const found =
        std::ranges::find_if(macros, [&](const Macro &each) { return each.name == name; });
    return found == macros.end() ? nullptr : found;
}

std::uint64_t bit(int value)
{
    return std::uint64_t{1} << value;
}

// Each parse function returns what it read, or records the first problem and returns nothing.
class CronParser {
public:
    explicit CronParser(std::string_view text) : text_(text) {}

    std::variant<Cron, ParseProblem> parse()
    {
        skip_blanks();
        const auto cron = next() == '@'     ? parse_macro()
                          : is_in_seconds() ? parse_seconds()
                                            : parse_fields();
        if (!cron.has_value())
            return problem_;
        return *cron;
    }

private:
    char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool at_end_of_field() const { return at_ == text_.size() || is_blank(text_[at_]); }

    void skip_blanks()
    {
        while (at_ < text_.size() && is_blank(text_[at_]))
            ++at_;
    }

    bool accept(char sign)
    {
        if (next() != sign)
            return false;
        ++at_;
        return true;
    }

    template <class Accepted>
    std::string_view take_while(Accepted accepted)
    {
        const std::size_t start = at_;
        while (at_ < text_.size() && accepted(text_[at_]))
            ++at_;
        return text_.substr(start, at_ - start);
    }

    std::nullopt_t fail(std::size_t at, std::string message)
    {
        problem_ = {at + 1, std::move(message)};
        return std::nullopt;
    }

    bool demand_end()
    {
        skip_blanks();
        if (at_ == text_.size())
            return true;
        fail(at_, "there is something after the end");
        return false;
    }

    // ---- whole expressions

    std::optional<Cron> parse_macro()
    {
        const std::size_t start = at_;
        const std::string_view name = take_while([](char c) { return !is_blank(c); });
        const Macro *macro = find_macro(name);
        if (macro == nullptr)
            return fail(start, name == "@reboot"
                                   ? "nobody knows when @reboot comes"
                                   : "expected @hourly, @daily, @weekly, @monthly or @yearly");
        if (!demand_end())
            return std::nullopt;
        return CronParser(macro->fields).parse_fields();
    }

    // A number and the word "second" or "seconds", where the fields would be.
    bool is_in_seconds() const
    {
        CronParser ahead = *this;
        ahead.take_while(is_digit);
        ahead.skip_blanks();
        const std::string_view word = ahead.take_while(is_word);
        return is_digit(next()) &&
               (equals_ignoring_case(word, "second") || equals_ignoring_case(word, "seconds"));
    }

    std::optional<Cron> parse_seconds()
    {
        const std::size_t start = at_;
        const int seconds = number_of(take_while(is_digit)).value_or(0);
        if (seconds < 1 || seconds > 59)
            return fail(start, "seconds must be from 1 to 59");
        skip_blanks();
        take_while(is_word);
        if (!demand_end())
            return std::nullopt;
        Cron cron;
        cron.seconds = seconds;
        return cron;
    }

    std::size_t count_fields() const
    {
        std::size_t count = 0;
        for (CronParser ahead = *this; ahead.skip_blanks(), ahead.at_ < text_.size(); ++count)
            ahead.take_while([](char c) { return !is_blank(c); });
        return count;
    }

    std::optional<Cron> parse_fields()
    {
        constexpr std::size_t with_seconds = 6;
        Cron cron;
        cron.has_second_field = count_fields() == with_seconds;
        const bool is_read = (!cron.has_second_field || parse_seconds_of(cron)) &&
                             parse_time_field(minute_field, cron.minutes, cron) &&
                             parse_time_field(hour_field, cron.hours, cron) &&
                             parse_days_of_month(cron) && parse_field(month_field, cron.months) &&
                             parse_days_of_week(cron) && demand_end();
        return is_read ? std::optional(cron) : std::nullopt;
    }

    bool parse_seconds_of(Cron &cron)
    {
        cron.second_values = 0;
        return parse_time_field(second_field, cron.second_values, cron);
    }

    bool parse_time_field(const Field &field, std::uint64_t &values, Cron &cron)
    {
        skip_blanks();
        cron.has_fixed_times = cron.has_fixed_times && next() != '*';
        return parse_field(field, values);
    }

    bool parse_days_of_month(Cron &cron)
    {
        skip_blanks();
        cron.needs_both_days = next() == '*';
        cron.on_last_day_of_month = accept('$');
        return cron.on_last_day_of_month ? demand_end_of_field(day_of_month_field)
                                         : parse_field(day_of_month_field, cron.days_of_month);
    }

    bool parse_days_of_week(Cron &cron)
    {
        skip_blanks();
        cron.needs_both_days = cron.needs_both_days || next() == '*';
        if (!parse_field(day_of_week_field, cron.days_of_week))
            return false;
        if ((cron.days_of_week & bit(7)) != 0)
            cron.days_of_week = (cron.days_of_week | bit(0)) & ~bit(7);
        return true;
    }

    // ---- fields

    bool parse_field(const Field &field, std::uint64_t &values)
    {
        skip_blanks();
        if (at_ == text_.size()) {
            fail(at_, "the " + std::string(field.name) + " is missing");
            return false;
        }
        do {
            if (!parse_part(field, values))
                return false;
        } while (accept(','));
        return demand_end_of_field(field);
    }

    bool demand_end_of_field(const Field &field)
    {
        if (at_end_of_field())
            return true;
        fail(at_, "expected a blank after the " + std::string(field.name));
        return false;
    }

    bool parse_part(const Field &field, std::uint64_t &values)
    {
        const std::size_t start = at_;
        int first = field.low;
        int last = field.high;
        if (!accept('*')) {
            const auto value = parse_value(field);
            if (!value.has_value())
                return false;
            first = last = *value;
            if (next() == '/') {
                fail(at_, "a step needs a range before it, such as " + std::to_string(first) + "-" +
                              std::to_string(field.high));
                return false;
            }
            if (accept('-')) {
                const auto end = parse_value(field);
                if (!end.has_value())
                    return false;
                last = *end;
            }
        }
        if (last < first) {
            fail(start, "the range runs backwards");
            return false;
        }
        const auto step = parse_step();
        if (!step.has_value())
            return false;
        for (int value = first; value <= last; value += *step)
            values |= bit(value);
        return true;
    }

    std::optional<int> parse_value(const Field &field)
    {
        const std::size_t start = at_;
        const std::string_view word = take_while(is_word);
        for (std::size_t i = 0; i < field.names.size(); ++i)
            if (equals_ignoring_case(word, field.names[i]))
                return field.low + static_cast<int>(i);
        if (word.empty() || !std::ranges::all_of(word, is_digit))
            return fail(start, "expected a " + std::string(field.name));
        const auto value = number_of(word);
        if (!value.has_value() || *value < field.low || *value > field.high)
            return fail(start, std::string(field.name) + " must be from " +
                                   std::to_string(field.low) + " to " + std::to_string(field.high));
        return value;
    }

    std::optional<int> parse_step()
    {
        if (!accept('/'))
            return 1;
        const std::size_t start = at_;
        const auto step = number_of(take_while(is_digit));
        constexpr int longest = 1'000;  // beyond every range
        if (!step.has_value() || *step < 1 || *step > longest)
            return fail(start, "a step must be from 1 to " + std::to_string(longest));
        return step;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    ParseProblem problem_{};
};

// ---- the next run ----

constexpr int minutes_per_day = 24 * 60;
constexpr int seconds_per_minute = 60;

constexpr std::chrono::sys_days year_2000{std::chrono::year{2000} / 1 / 1};

std::int64_t rounded_up(std::int64_t time, std::int64_t unit)
{
    const std::int64_t rest = (time % unit + unit) % unit;
    return rest == 0 ? time : time + unit - rest;
}

bool has(std::uint64_t values, unsigned value)
{
    return (values >> value & 1) != 0;
}

bool comes_on(const Cron &cron, std::chrono::sys_days date)
{
    const std::chrono::year_month_day calendar{date};
    if (!has(cron.months, static_cast<unsigned>(calendar.month())))
        return false;
    const std::chrono::year_month_day_last last{calendar.year(),
                                                std::chrono::month_day_last{calendar.month()}};
    const bool in_month = has(cron.days_of_month, static_cast<unsigned>(calendar.day())) ||
                          (cron.on_last_day_of_month && calendar.day() == last.day());
    const bool in_week = has(cron.days_of_week, std::chrono::weekday{date}.c_encoding());
    return cron.needs_both_days ? in_month && in_week : in_month || in_week;
}

// The first second of a minute at or after `from`.
std::optional<int> next_second(const Cron &cron, int from)
{
    const std::uint64_t left = cron.second_values >> from;
    return left == 0 ? std::nullopt : std::optional(from + std::countr_zero(left));
}

// The first second of a day at or after `from`.
std::optional<int> next_second_of_day(const Cron &cron, int from)
{
    int second = from % seconds_per_minute;
    for (int minute = from / seconds_per_minute; minute < minutes_per_day; ++minute, second = 0)
        if (has(cron.hours, static_cast<unsigned>(minute / 60)) &&
            has(cron.minutes, static_cast<unsigned>(minute % 60)))
            if (const auto found = next_second(cron, second))
                return minute * seconds_per_minute + *found;
    return std::nullopt;
}

}  // namespace

std::variant<Cron, ParseProblem> parse_cron(std::string_view text)
{
    return CronParser{text}.parse();
}

std::string_view without_macro(std::string_view text)
{
    while (!text.empty() && is_blank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back()))
        text.remove_suffix(1);
    const Macro *macro = find_macro(text);
    return macro == nullptr ? text : macro->fields;
}

std::optional<std::int64_t> next_local_run(const Cron &cron, std::int64_t local)
{
    const std::int64_t start = rounded_up(local, microseconds_per_second);
    std::int64_t midnight = rounded_up(start - microseconds_per_day + 1, microseconds_per_day);
    int from = static_cast<int>((start - midnight) / microseconds_per_second);
    for (int days = 0; days < most_days; ++days, midnight += microseconds_per_day, from = 0) {
        if (!comes_on(cron, year_2000 + std::chrono::days{midnight / microseconds_per_day}))
            continue;
        if (const auto time = next_second_of_day(cron, from))
            return midnight + *time * microseconds_per_second;
    }
    return std::nullopt;
}

// Searches from one clock change to the next.
std::optional<std::int64_t> next_run(const Cron &cron, const Zone &zone, std::int64_t after)
{
    if (cron.seconds > 0)
        return after + cron.seconds * microseconds_per_second;
    std::int64_t time = after + 1;
    const std::int64_t end = time + most_days * microseconds_per_day;
    while (time < end) {
        const Zone::Span span = zone.at(time);
        const auto local = next_local_run(cron, time + span.offset);
        if (!local.has_value())
            return std::nullopt;
        const std::int64_t run = *local - span.offset;
        if (run < span.end)
            return run;
        time = span.end;
    }
    return std::nullopt;
}

}  // namespace hipq::core
