// Reads time windows and writes their canonical form. Blanks may stand between any two words and
// signs.
#include "core/limits/time_windows.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/text/characters.hpp"

namespace hipq::core {

namespace {

constexpr int days_per_week = 7;
constexpr std::uint8_t every_day = 0x7f;
constexpr std::int16_t end_of_day = 24 * 60;
constexpr std::size_t most_windows = 32;
constexpr std::string_view always = "NONE";
constexpr std::array<std::string_view, days_per_week> day_names{"mon", "tue", "wed", "thu",
                                                                "fri", "sat", "sun"};

constexpr const char *expected_window = "expected a day such as mon or a time such as 09:00";
constexpr const char *expected_day = "expected a day such as mon";
constexpr const char *expected_time = "expected a time such as 09:00";
constexpr const char *days_without_times =
    "the days before this comma have no times: write days that share theirs with a blank "
    "between them, and 00:00-24:00 after days that are open all day";

std::uint8_t day_bit(int day)
{
    return static_cast<std::uint8_t>(1U << (day % days_per_week));
}

// From `first` to `last`, across Sunday if necessary.
std::uint8_t days_between(int first, int last)
{
    std::uint8_t days = day_bit(last);
    for (int day = first; day % days_per_week != last; ++day)
        days |= day_bit(day);
    return days;
}

// Recursive descent over the grammar in the header. Each parse function skips blanks and returns
// what it read, or records the first problem and returns nothing.
class TimeWindowsParser {
public:
    explicit TimeWindowsParser(std::string_view text) : text_(text) {}

    std::variant<TimeWindows, ParseProblem> parse()
    {
        TimeWindows windows;
        if (!parse_always() && !parse_list(windows))
            return problem_;
        return windows;
    }

private:
    void skip_blanks()
    {
        while (at_ < text_.size() && is_blank(text_[at_]))
            ++at_;
    }

    bool at_end()
    {
        skip_blanks();
        return at_ == text_.size();
    }

    bool accept(char sign)
    {
        if (at_end() || text_[at_] != sign)
            return false;
        ++at_;
        return true;
    }

    bool next_is_digit() { return !at_end() && is_digit(text_[at_]); }

    // The text up to the next blank, comma or hyphen.
    std::string_view next_word()
    {
        skip_blanks();
        const auto is_end = [](char c) { return is_blank(c) || c == ',' || c == '-'; };
        const std::string_view rest = text_.substr(at_);
        return rest.substr(
            0, static_cast<std::size_t>(std::ranges::find_if(rest, is_end) - rest.begin()));
    }

    std::nullopt_t fail(std::size_t at, const char *message)
    {
        problem_ = {at + 1, message};
        return std::nullopt;
    }

    // Returns whether the text is the word for "no windows" and nothing else.
    bool parse_always()
    {
        const std::size_t start = at_;
        const std::string_view word = next_word();
        if (equals_ignoring_case(word, always)) {
            at_ += word.size();
            if (at_end())
                return true;
        }
        at_ = start;
        return false;
    }

    bool parse_list(TimeWindows &windows)
    {
        bool has_bare_days = false;  // of the preceding window
        do {
            const std::size_t comma = at_ - 1;
            skip_blanks();
            if (windows.size() == most_windows) {
                fail(at_, "more than 32 windows");
                return false;
            }
            const std::optional<Written> written = parse_window();
            if (!written)
                return false;
            if (has_bare_days && written->has_days &&
                written->has_times) {  // "mon, wed 10:00-11:00"
                fail(comma, days_without_times);
                return false;
            }
            has_bare_days = !written->has_times;
            windows.push_back(written->window);
        } while (accept(','));
        if (!at_end()) {
            fail(at_, "expected a comma or the end of the text");
            return false;
        }
        return true;
    }

    // A window, and which of its parts the text has.
    struct Written {
        TimeWindow window;
        bool has_days;
        bool has_times;
    };

    std::optional<Written> parse_window()
    {
        Written written{{every_day, 0, end_of_day}, !next_is_digit(), false};
        if (written.has_days) {
            const std::optional<std::uint8_t> days = parse_days();
            if (!days)
                return std::nullopt;
            written.window.days = *days;
        }
        written.has_times = next_is_digit();
        if (written.has_times && !parse_times(written.window))
            return std::nullopt;
        return written;
    }

    std::optional<std::uint8_t> parse_days()
    {
        std::uint8_t days = 0;
        do {
            const std::optional<std::uint8_t> range =
                parse_day_range(days == 0 ? expected_window : expected_day);
            if (!range)
                return std::nullopt;
            days |= *range;
        } while (!at_end() && text_[at_] != ',' && !is_digit(text_[at_]));
        return days;
    }

    std::optional<std::uint8_t> parse_day_range(const char *message)
    {
        const std::optional<int> first = parse_day(message);
        if (!first)
            return std::nullopt;
        if (!accept('-'))
            return day_bit(*first);
        const std::optional<int> last = parse_day(expected_day);
        if (!last)
            return std::nullopt;
        return days_between(*first, *last);
    }

    std::optional<int> parse_day(const char *message)
    {
        const std::string_view word = next_word();
        for (int day = 0; day < days_per_week; ++day) {
            if (equals_ignoring_case(word, day_names[static_cast<std::size_t>(day)])) {
                at_ += word.size();
                return day;
            }
        }
        return fail(at_, message);
    }

    bool parse_times(TimeWindow &window)
    {
        skip_blanks();
        const std::size_t from_at = at_;
        const std::optional<std::int16_t> from = parse_time();
        if (!from)
            return false;
        if (*from == end_of_day) {
            fail(from_at, "a window cannot start at 24:00");
            return false;
        }
        if (!accept('-')) {
            fail(at_, "expected a hyphen and the time at which the window ends");
            return false;
        }
        skip_blanks();
        const std::size_t to_at = at_;
        const std::optional<std::int16_t> to = parse_time();
        if (!to)
            return false;
        if (*to == *from) {
            fail(to_at, "a window cannot end at the time it starts");
            return false;
        }
        window.from = *from;
        window.to =
            *to == 0 ? end_of_day : *to;  // the same moment, but only 24:00 lies within the day
        return true;
    }

    std::optional<std::int16_t> parse_time()
    {
        const std::string_view word = next_word();
        const std::size_t colon = word.find(':');
        const auto number = [&](std::size_t from, std::size_t length) {
            int value = 0;
            for (const char c : word.substr(from, length))
                value = is_digit(c) && value >= 0 ? value * 10 + (c - '0') : -1;
            return value;
        };
        if (colon == 0 || colon > 2 || word.size() != colon + 3)
            return fail(at_, expected_time);
        const int hours = number(0, colon);
        const int minutes = number(colon + 1, 2);
        if (hours < 0 || minutes < 0)
            return fail(at_, expected_time);
        const int time = hours * 60 + minutes;
        if (minutes >= 60 || time > end_of_day)
            return fail(at_, "time is out of range");
        at_ += word.size();
        return static_cast<std::int16_t>(time);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    ParseProblem problem_{};
};

void append_two_digits(std::string &text, int number)
{
    text += static_cast<char>('0' + number / 10);
    text += static_cast<char>('0' + number % 10);
}

void append_time(std::string &text, int minutes)
{
    append_two_digits(text, minutes / 60);
    text += ':';
    append_two_digits(text, minutes % 60);
}

// Writes one range for each run of days, in the order of their first days. Sunday and Monday are
// neighbours: a run across the end of the week becomes one range, which is shorter than two and
// matches what the user wrote ("fri-mon").
void append_days(std::string &text, std::uint8_t days)
{
    const auto has = [days](int day) { return (days & day_bit(day)) != 0; };
    for (int first = 0; first < days_per_week; ++first) {
        if (!has(first) || has(first + days_per_week - 1))
            continue;
        int last = first;
        while (has(last + 1))
            ++last;
        if (!text.empty())
            text += ' ';
        text += day_names[static_cast<std::size_t>(first)];
        if (last > first) {
            text += '-';
            text += day_names[static_cast<std::size_t>(last % days_per_week)];
        }
    }
}

bool is_all_day(const TimeWindow &window)
{
    return window.from == 0 && window.to == end_of_day;
}

std::string canonical_window(const TimeWindow &window, bool with_times)
{
    std::string text;
    if (window.days != every_day)
        append_days(text, window.days);
    if (is_all_day(window) && !text.empty() && !with_times)
        return text;
    if (!text.empty())
        text += ' ';
    append_time(text, window.from);
    text += '-';
    append_time(text, window.to);
    return text;
}

}  // namespace

std::variant<TimeWindows, ParseProblem> parse_time_windows(std::string_view text)
{
    return TimeWindowsParser{text}.parse();
}

std::string canonical(const TimeWindows &windows)
{
    if (windows.empty())
        return std::string{always};
    std::string text;
    for (std::size_t i = 0; i < windows.size(); ++i) {
        const bool before_days_with_times = i + 1 < windows.size() &&
                                            windows[i + 1].days != every_day &&
                                            !is_all_day(windows[i + 1]);
        text += text.empty() ? "" : ", ";
        text += canonical_window(windows[i], before_days_with_times);
    }
    return text;
}

}  // namespace hipq::core
