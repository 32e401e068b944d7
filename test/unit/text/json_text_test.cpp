// Which texts are JSON when job data is given as text.
#include "core/text/json_text.hpp"

#include <gtest/gtest.h>

namespace hipq::core {
namespace {

TEST(JsonText, ReadsJson)
{
    for (const char *text : {"{}",       " {\"a\": 1}",  "[1, 2]",       "\"hello\"",
                             "true",     "false",        " null ",       "0",
                             "-1",       "12.5",         "1e9",          "-0.1E-7",
                             "{broken",  "[x] done",     "\"unclosed",   "\"closed \\\" not yet",
                             "\"a\": 1", "\"a\", \"b\"", " \"blanks\" ", "\"a\"}",
                             "\"a\"]"})
        EXPECT_TRUE(reads_as_json(text)) << text;
}

TEST(JsonText, TakesTheRestAsStrings)
{
    for (const char *text : {"",
                             "  ",
                             "hello",
                             "2026-11-21",
                             "True",
                             "nulls",
                             "01",
                             "1.",
                             ".5",
                             "1e",
                             "+1",
                             "-",
                             "0x10",
                             "1 2",
                             "NaN",
                             "\"quoted\" text",
                             " \"a \\\" b\" c",
                             "\"a\" \"b\"",
                             "\"a\"-b",
                             "\"\"x"})
        EXPECT_FALSE(reads_as_json(text)) << text;
}

TEST(JsonText, RefusesFalseBlanksBeforeJson)
{
    for (const char *text : {"\xef\xbb\xbf{}", "\xc2\xa0[1]", " \xc2\xa0 \xef\xbb\xbf\n{\"a\": 1}"})
        EXPECT_TRUE(reads_as_json(text)) << text;
    for (const char *text : {"\xef\xbb\xbfhello", "\xc2\xa0", "\xc2{}", "\xc3\xa9{}"})
        EXPECT_FALSE(reads_as_json(text)) << text;
}

}  // namespace
}  // namespace hipq::core
