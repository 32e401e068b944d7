// Texts on a terminal: widths, numbers, durations, JSON.
#include "screens/text.hpp"

#include <gtest/gtest.h>

#include <clocale>

namespace hipq::top {

namespace {

class Text : public ::testing::Test {
protected:
    void SetUp() override { std::setlocale(LC_CTYPE, "C.UTF-8"); }
};

TEST_F(Text, WidthIsInColumns)
{
    EXPECT_EQ(width_of("mail"), 4);
    EXPECT_EQ(width_of("größe"), 5);
    EXPECT_EQ(width_of("日本"), 4);
    EXPECT_EQ(width_of("\xFF\xFE"), 2);
}

TEST_F(Text, CutsAtCharacters)
{
    EXPECT_EQ(cut("größe", 5), "größe");
    EXPECT_EQ(cut("größe", 4), "grö…");
    EXPECT_EQ(cut("日本語", 5), "日本…");
    EXPECT_EQ(cut("日本語", 4), "日…");
    EXPECT_EQ(cut("x", 0), "");
    EXPECT_EQ(fit("ab", 4), "ab  ");
    EXPECT_EQ(fit("ab", 4, true), "  ab");
}

TEST_F(Text, ShowsNothingThatMovesTheCursor)
{
    EXPECT_EQ(one_line("a\nb\tc\x1b[2Jd\x7f"), "a b c?[2Jd?");
    EXPECT_EQ(one_line("\xC2\x9B"
                       "2J"),
              "?2J");
    EXPECT_EQ(one_line("\xFF"), "?");
}

TEST_F(Text, BreaksLinesAtWords)
{
    EXPECT_EQ(wrap("one two three", 8), (std::vector<std::string>{"one two", "three"}));
    EXPECT_EQ(wrap("abcdefghij", 4), (std::vector<std::string>{"abcd", "efgh", "ij"}));
    EXPECT_EQ(wrap("a\n\nb", 9), (std::vector<std::string>{"a", "", "b"}));
    EXPECT_EQ(wrap("", 9), (std::vector<std::string>{""}));
}

TEST_F(Text, NumbersAreShort)
{
    EXPECT_EQ(count_text(0), "0");
    EXPECT_EQ(count_text(99'999), "99999");
    EXPECT_EQ(count_text(12.34), "12.3");
    EXPECT_EQ(count_text(600'000), "600k");
    EXPECT_EQ(count_text(999'600), "1M");
    EXPECT_EQ(count_text(12'345'678), "12.3M");
    EXPECT_EQ(count_text(5e9), "5G");
}

TEST_F(Text, LengthsOfTime)
{
    EXPECT_EQ(duration_text(std::nullopt), "-");
    EXPECT_EQ(duration_text(0.0123), "12ms");
    EXPECT_EQ(duration_text(-5), "0ms");
    EXPECT_EQ(duration_text(3.21), "3.2s");
    EXPECT_EQ(duration_text(59.4), "59s");
    EXPECT_EQ(duration_text(61), "1m01s");
    EXPECT_EQ(duration_text(7'500), "2h05m");
    EXPECT_EQ(duration_text(200'000), "2d07h");
}

TEST_F(Text, JsonHasALineForEachMember)
{
    EXPECT_EQ(pretty_json(R"({"a": 1.10, "b": [true, {}], "c": "x, {y"})"),
              "{\n  \"a\": 1.10,\n  \"b\": [\n    true,\n    {}\n  ],\n  \"c\": \"x, {y\"\n}");
    EXPECT_EQ(pretty_json("12345678901234567890123"), "12345678901234567890123");
    EXPECT_EQ(pretty_json("{}"), "{}");
    EXPECT_EQ(pretty_json("no JSON"), "no JSON");
    EXPECT_EQ(pretty_json(R"({"a": "\"b\\"})"), "{\n  \"a\": \"\\\"b\\\\\"\n}");
}

}  // namespace

}  // namespace hipq::top
