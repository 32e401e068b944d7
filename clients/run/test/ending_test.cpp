// The answer for a job, by its program's exit code and output.
#include "child/ending.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "child/lines.hpp"
#include "child/said.hpp"

namespace hipq::run {

namespace {

using Kind = Ending::Kind;

Ending of_code(int code, bool failure_is_final = false)
{
    return ending_of({code, 0}, {"out", false, "said"}, failure_is_final);
}

}  // namespace

TEST(Ending, DependsOnTheExitCode)
{
    EXPECT_EQ(of_code(0).kind, Kind::complete);
    for (int code = 1; code < 256; ++code) {
        EXPECT_EQ(of_code(code).kind, Kind::fail) << code;
        EXPECT_EQ(of_code(code).retriable, code != 78) << code;
        EXPECT_EQ(of_code(code, true).retriable, code == 75) << code;
        EXPECT_EQ(of_code(code).text, "exit code " + std::to_string(code) + ": said");
    }
}

TEST(Ending, OfASignalIsAFailure)
{
    const Ending ending = ending_of({0, SIGKILL}, {"", false, ""}, false);
    EXPECT_EQ(ending.kind, Kind::fail);
    EXPECT_EQ(ending.text, "killed by signal 9 (Killed)");
    EXPECT_TRUE(ending.retriable);
    EXPECT_FALSE(ending_of({0, SIGKILL}, {}, true).retriable);
}

TEST(Ending, OfTooMuchOutputIsFinal)
{
    const Ending ending = ending_of({0, 0}, {"x", true, ""}, false);
    EXPECT_EQ(ending.kind, Kind::fail);
    EXPECT_FALSE(ending.retriable);
}

TEST(Result, IsJsonAsItStandsOrAString)
{
    EXPECT_EQ(result_of(""), "null");
    EXPECT_EQ(result_of(" \n"), "null");
    EXPECT_EQ(result_of("{\"a\": 1.10}\n"), "{\"a\": 1.10}");
    EXPECT_EQ(result_of("12345678901234567890123"), "12345678901234567890123");
    for (const std::string number :
         {"1e400", "-1.10E+999", "[0.00, 1e-999]", "100000000000000000000"})
        EXPECT_EQ(result_of(number), number);
    EXPECT_EQ(result_of(std::string(400, '9')), std::string(400, '9'));
    for (const std::string none : {"01", "1.", "1e", "-", "+1", "1e400x"})
        EXPECT_EQ(result_of(none), "\"" + none + "\"");
    EXPECT_EQ(result_of(R"("1e4\"00 123456")"), R"("1e4\"00 123456")");
    EXPECT_EQ(result_of("\xEF\xBB\xBF{\"a\": 1}\r\n"), "{\"a\": 1}");
    EXPECT_EQ(result_of("true\n"), "true");
    EXPECT_EQ(result_of("hello\n"), "\"hello\"");
    EXPECT_EQ(result_of("{\"a\": 1}\n{\"a\": 2}\n"), R"("{\"a\": 1}\n{\"a\": 2}")");
    EXPECT_EQ(result_of(std::string("a\0b\xFF", 4)), "\"a\xEF\xBF\xBD"
                                                     "b\xEF\xBF\xBD\"");
}

TEST(Error, IsTheStatusAndWhatWasSaid)
{
    EXPECT_EQ(error_of({3, 0}, ""), "exit code 3");
    EXPECT_EQ(error_of({3, 0}, "one\ntwo\n"), "exit code 3: one\ntwo");
}

TEST(Tail, KeepsTheLastLines)
{
    Tail tail(10);
    tail.add("one\n");
    EXPECT_EQ(tail.text(), "one\n");
    for (int i = 0; i < 100; ++i)
        tail.add("two\nthree\n");
    EXPECT_EQ(tail.text(), "three\n");
    Tail unbroken(4);
    unbroken.add("abcdefghij");
    EXPECT_EQ(unbroken.text(), "ghij");
}

TEST(Lines, AreGivenOneByOne)
{
    std::vector<std::string> given;
    Lines lines(4, Lines::Long::in_pieces, [&](const std::string &line) { given.push_back(line); });
    lines.add("a\nb");
    lines.add("c\n\nabcdefghij\nend");
    EXPECT_EQ(given, (std::vector<std::string>{"a", "bc", "", "abcd", "efgh", "ij"}));
    lines.end();
    EXPECT_EQ(given.back(), "end");
}

TEST(Lines, ThatAreTooLongMayBeLeftOut)
{
    std::vector<std::string> given;
    Lines lines(4, Lines::Long::left_out, [&](const std::string &line) { given.push_back(line); });
    lines.add("abcdefghij");
    lines.add("klm\nok\n");
    EXPECT_EQ(given, (std::vector<std::string>{"ok"}));
}

TEST(Lines, CutLongOnes)
{
    std::vector<std::string> given;
    Lines lines(4, Lines::Long::cut, [&](const std::string &line) { given.push_back(line); });
    for (const char *part : {"four\n1", "23456", "78", "9\nnext\nof 5!"})
        lines.add(part);
    lines.end();
    EXPECT_EQ(given, (std::vector<std::string>{"four", "12345", "next", "of 5!"}));
}

TEST(Said, IsProgressOrMoreTime)
{
    EXPECT_EQ(read_said("3/10 on the way")->done, 3);
    EXPECT_EQ(read_said("3/10 on the way")->total, 10);
    EXPECT_EQ(read_said("3/10 on the way")->message, "on the way");
    EXPECT_EQ(read_said("3")->total, std::nullopt);
    EXPECT_EQ(read_said("3")->message, std::nullopt);
    EXPECT_EQ(read_said("3 pages")->message, "pages");
    EXPECT_EQ(read_said("extend 5 min")->more_time, "5 min");
    EXPECT_EQ(read_said("extend 5 min")->retry_after, std::nullopt);
    EXPECT_EQ(read_said("retry after 5 min")->retry_after, "5 min");
    for (const char *wrong :
         {"", "on the way", "-3", "3/", "3/x", "3x", "/10", "99999999999999999999", "retry after"})
        EXPECT_FALSE(read_said(wrong)) << wrong;
}

}  // namespace hipq::run
