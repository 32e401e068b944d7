// Time windows: valid and invalid texts with the position of the error, the canonical form, and
// random round trips.
#include "core/limits/time_windows.hpp"

#include <gtest/gtest.h>

#include <random>

namespace hipq::core {
namespace {

constexpr std::uint8_t mon = 1, tue = 2, wed = 4, thu = 8, fri = 16, sat = 32, sun = 64, all = 127;
constexpr std::int16_t full = 1440;

constexpr std::int16_t at(int hours, int minutes = 0)
{
    return static_cast<std::int16_t>(hours * 60 + minutes);
}

constexpr std::uint8_t days(int bits)
{
    return static_cast<std::uint8_t>(bits);
}

// The windows, or none and a failed test.
TimeWindows parsed(std::string_view text)
{
    const auto result = parse_time_windows(text);
    if (const auto *problem = std::get_if<ParseProblem>(&result)) {
        ADD_FAILURE() << '"' << text << "\" at " << problem->position << ": " << problem->message;
        return {};
    }
    return std::get<TimeWindows>(result);
}

struct Good {
    std::string_view text;
    TimeWindows windows;
    std::string_view canonical;
};

const Good good_cases[]{
    {"NONE", {}, "NONE"},
    {"none", {}, "NONE"},
    {"  NONE ", {}, "NONE"},
    {"22:00-06:00", {{all, at(22), at(6)}}, "22:00-06:00"},
    {"00:00-24:00", {{all, 0, full}}, "00:00-24:00"},
    {"00:00-00:01", {{all, 0, 1}}, "00:00-00:01"},
    {"23:59-24:00", {{all, at(23, 59), full}}, "23:59-24:00"},
    {"22:00-00:00", {{all, at(22), full}}, "22:00-24:00"},
    {"mon", {{mon, 0, full}}, "mon"},
    {"mon 00:00-24:00", {{mon, 0, full}}, "mon"},
    {"sun", {{sun, 0, full}}, "sun"},
    {"sat sun", {{days(sat | sun), 0, full}}, "sat-sun"},
    {"sun sat", {{days(sat | sun), 0, full}}, "sat-sun"},
    {"mon-sun", {{all, 0, full}}, "00:00-24:00"},
    {"tue-mon", {{all, 0, full}}, "00:00-24:00"},
    {"sun-sat", {{all, 0, full}}, "00:00-24:00"},
    {"mon-sun 08:00-09:00", {{all, at(8), at(9)}}, "08:00-09:00"},
    {"mon-mon", {{mon, 0, full}}, "mon"},
    {"mon-fri 09:00-17:00",
     {{days(mon | tue | wed | thu | fri), at(9), at(17)}},
     "mon-fri 09:00-17:00"},
    {"MON-Fri 09:00-17:00",
     {{days(mon | tue | wed | thu | fri), at(9), at(17)}},
     "mon-fri 09:00-17:00"},
    {"mon tue", {{days(mon | tue), 0, full}}, "mon-tue"},
    {"mon wed", {{days(mon | wed), 0, full}}, "mon wed"},
    {"wed mon wed", {{days(mon | wed), 0, full}}, "mon wed"},
    {"fri-mon", {{days(fri | sat | sun | mon), 0, full}}, "fri-mon"},
    {"mon fri-sun", {{days(fri | sat | sun | mon), 0, full}}, "fri-mon"},
    {"sun-mon", {{days(sun | mon), 0, full}}, "sun-mon"},
    {"mon sun", {{days(sun | mon), 0, full}}, "sun-mon"},
    {"sat-mon wed", {{days(sat | sun | mon | wed), 0, full}}, "wed sat-mon"},
    {"mon wed fri sun", {{days(mon | wed | fri | sun), 0, full}}, "wed fri sun-mon"},
    {"tue-thu sat", {{days(tue | wed | thu | sat), 0, full}}, "tue-thu sat"},
    {"mon-fri 09:00-12:00, mon-fri 13:00-17:00",
     {{days(mon | tue | wed | thu | fri), at(9), at(12)},
      {days(mon | tue | wed | thu | fri), at(13), at(17)}},
     "mon-fri 09:00-12:00, mon-fri 13:00-17:00"},
    {"sat,22:00-06:00", {{sat, 0, full}, {all, at(22), at(6)}}, "sat, 22:00-06:00"},
    {"22:00-06:00 ,sat", {{all, at(22), at(6)}, {sat, 0, full}}, "22:00-06:00, sat"},
    {"mon wed 10:00-11:00", {{days(mon | wed), at(10), at(11)}}, "mon wed 10:00-11:00"},
    {"mon 00:00-24:00, wed 10:00-11:00",
     {{mon, 0, full}, {wed, at(10), at(11)}},
     "mon 00:00-24:00, wed 10:00-11:00"},
    {"wed 10:00-11:00, mon", {{wed, at(10), at(11)}, {mon, 0, full}}, "wed 10:00-11:00, mon"},
    {"mon, wed", {{mon, 0, full}, {wed, 0, full}}, "mon, wed"},
    {"9:00-17:05", {{all, at(9), at(17, 5)}}, "09:00-17:05"},
    {"mon 8:30-9:00", {{mon, at(8, 30), at(9)}}, "mon 08:30-09:00"},
    {"sat, sat", {{sat, 0, full}, {sat, 0, full}}, "sat, sat"},
    {"\t mon  -  wed \n 09:30 - 10:00  ",
     {{days(mon | tue | wed), at(9, 30), at(10)}},
     "mon-wed 09:30-10:00"},
};

TEST(TimeWindows, GoodTexts)
{
    for (const Good &good : good_cases)
        EXPECT_EQ(parsed(good.text), good.windows) << good.text;
}

TEST(TimeWindows, CanonicalTexts)
{
    for (const Good &good : good_cases) {
        EXPECT_EQ(canonical(good.windows), good.canonical) << good.text;
        EXPECT_EQ(parsed(good.canonical), good.windows) << good.text;
        EXPECT_EQ(canonical(parsed(good.canonical)), good.canonical) << good.text;
    }
}

struct Bad {
    std::string_view text;
    std::size_t position;
    std::string_view message;
};

constexpr std::string_view expected_window = "expected a day such as mon or a time such as 09:00";
constexpr std::string_view expected_day = "expected a day such as mon";
constexpr std::string_view expected_time = "expected a time such as 09:00";
constexpr std::string_view expected_end = "expected a comma or the end of the text";
constexpr std::string_view expected_to = "expected a hyphen and the time at which the window ends";
constexpr std::string_view bare_days =
    "the days before this comma have no times: write days that share theirs with a blank "
    "between them, and 00:00-24:00 after days that are open all day";
constexpr std::string_view out_of_range = "time is out of range";
constexpr std::string_view empty_window = "a window cannot end at the time it starts";

const Bad bad_cases[]{
    {"", 1, expected_window},
    {"   ", 4, expected_window},
    {",", 1, expected_window},
    {"mon,", 5, expected_window},
    {"mon, ", 6, expected_window},
    {"mon,,tue", 5, expected_window},
    {", mon", 1, expected_window},
    {"-", 1, expected_window},
    {"monday", 1, expected_window},
    {"mo", 1, expected_window},
    {"any", 1, expected_window},
    {"monfri", 1, expected_window},
    {"mon09:00-10:00", 1, expected_window},
    {"NONE, mon", 1, expected_window},
    {"NONE mon", 1, expected_window},
    {"mon, NONE", 6, expected_window},
    {"mon NONE", 5, expected_day},
    {"mon tues", 5, expected_day},
    {"mon-", 5, expected_day},
    {"mon-,", 5, expected_day},
    {"mon-funday", 5, expected_day},
    {"mon-tue-wed", 8, expected_day},
    {"mon-09:00", 5, expected_day},
    {"mon;tue", 1, expected_window},
    {"m\xc3\xb6n", 1, expected_window},
    {"009:00-17:00", 1, expected_time},
    {":00-17:00", 1, expected_window},
    {"9:0-17:00", 1, expected_time},
    {"mon,wed 10:00-11:00", 4, bare_days},
    {"sat sun, mon-fri 18:00-22:00", 8, bare_days},
    {"08:00-09:00, mon, wed 10:00-11:00", 17, bare_days},
    {"mon-sun, wed 10:00-11:00", 8, bare_days},
    {"0900-1700", 1, expected_time},
    {"09:00:00-17:00", 1, expected_time},
    {"09.00-17:00", 1, expected_time},
    {"09:0a-17:00", 1, expected_time},
    {"09:00-", 7, expected_time},
    {"09:00-17", 7, expected_time},
    {"09:00-mon", 7, expected_time},
    {"09:00--17:00", 7, expected_time},
    {"mon 9", 5, expected_time},
    {"09:00", 6, expected_to},
    {"09:00 17:00", 7, expected_to},
    {"mon 09:00, tue", 10, expected_to},
    {"25:00-26:00", 1, out_of_range},
    {"09:60-10:00", 1, out_of_range},
    {"09:00-24:01", 7, out_of_range},
    {"09:00-99:99", 7, out_of_range},
    {"24:00-06:00", 1, "a window cannot start at 24:00"},
    {"mon 24:00-24:00", 5, "a window cannot start at 24:00"},
    {"09:00-09:00", 7, empty_window},
    {"00:00-00:00", 7, empty_window},
    {"sat, 09:00 - 09:00", 14, empty_window},
    {"09:00-17:00 mon", 13, expected_end},
    {"09:00-17:00 18:00-19:00", 13, expected_end},
    {"09:00-17:00-18:00", 12, expected_end},
    {"mon 09:00-17:00 tue", 17, expected_end},
};

TEST(TimeWindows, BadTexts)
{
    for (const Bad &bad : bad_cases) {
        const auto result = parse_time_windows(bad.text);
        const auto *problem = std::get_if<ParseProblem>(&result);
        ASSERT_NE(problem, nullptr) << bad.text;
        EXPECT_EQ(problem->position, bad.position) << bad.text;
        EXPECT_EQ(problem->message, bad.message) << bad.text;
    }
}

TEST(TimeWindows, EmbeddedZeroByteIsRefused)
{
    const auto result = parse_time_windows(std::string_view{"mon\0", 4});
    EXPECT_TRUE(std::holds_alternative<ParseProblem>(result));
}

TEST(TimeWindows, AtMostThirtyTwoWindows)
{
    std::string text = "mon";
    for (int i = 1; i < 32; ++i)
        text += ",mon";
    EXPECT_EQ(parsed(text).size(), 32U);
    const auto result = parse_time_windows(text + ", mon");
    const auto *problem = std::get_if<ParseProblem>(&result);
    ASSERT_NE(problem, nullptr);
    EXPECT_EQ(problem->position, text.size() + 3);
    EXPECT_EQ(problem->message, "more than 32 windows");
}

TEST(TimeWindows, EverySetOfDaysRoundTrips)
{
    for (int bits = 1; bits <= all; ++bits) {
        for (const TimeWindow &window :
             {TimeWindow{days(bits), 0, full}, TimeWindow{days(bits), at(22), at(6)}}) {
            const std::string text = canonical({window});
            EXPECT_EQ(parsed(text), TimeWindows{window}) << text;
        }
    }
}

TEST(TimeWindows, RandomWindowsRoundTrip)
{
    std::mt19937 random{20261121};
    const auto up_to = [&](int least, int most) {
        return std::uniform_int_distribution{least, most}(random);
    };
    for (int i = 0; i < 4'000; ++i) {
        TimeWindows windows(static_cast<std::size_t>(up_to(0, 32)));
        for (TimeWindow &window : windows) {
            window.days = days(up_to(1, all));
            window.from = static_cast<std::int16_t>(up_to(0, full - 1));
            do
                window.to = static_cast<std::int16_t>(up_to(1, full));
            while (window.to == window.from);
        }
        const std::string text = canonical(windows);
        ASSERT_EQ(parsed(text), windows) << text;
        ASSERT_EQ(canonical(parsed(text)), text);
    }
}

// Texts made of the grammar's own pieces are often almost valid. A text that the parser accepts
// must be within the limits of the type and have a canonical form with the same meaning; if the
// parser refuses a text, the error position must be within the text.
TEST(TimeWindows, RandomTextsAreParsedOrRefusedCleanly)
{
    constexpr std::string_view pieces[]{"mon",   "Tue",   "sun",   "-",     "-",    " ", " ", ",",
                                        "09:00", "17:30", "24:00", "00:00", "NONE", "9", ":", "x"};
    std::mt19937 random{4711};
    int accepted = 0;
    for (int i = 0; i < 100'000; ++i) {
        std::string text;
        for (auto n = random() % 9; n > 0; --n)
            text += pieces[random() % std::size(pieces)];
        const auto result = parse_time_windows(text);
        if (const auto *problem = std::get_if<ParseProblem>(&result)) {
            ASSERT_GE(problem->position, 1U) << text;
            ASSERT_LE(problem->position, text.size() + 1) << text;
            continue;
        }
        ++accepted;
        const TimeWindows &windows = std::get<TimeWindows>(result);
        for (const TimeWindow &window : windows) {
            ASSERT_TRUE(window.days >= 1 && window.days <= all) << text;
            ASSERT_TRUE(window.from >= 0 && window.from < full) << text;
            ASSERT_TRUE(window.to >= 1 && window.to <= full && window.to != window.from) << text;
        }
        ASSERT_EQ(parsed(canonical(windows)), windows) << text;
    }
    EXPECT_GT(accepted, 500);
}

}  // namespace
}  // namespace hipq::core
