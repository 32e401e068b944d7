// Options of hipq-top: the command line, and errors in it.
#include "options/options.hpp"

#include <gtest/gtest.h>

namespace hipq::top {

namespace {

std::string error_of(const std::vector<std::string> &words)
{
    try {
        parse_command_line(words);
    } catch (const UsageError &error) {
        return error.what();
    }
    return "none";
}

TEST(TopOptions, AreThoseOfPsql)
{
    const Options options = parse_command_line({"-h", "db", "-p5433", "--username=ann", "jobs"});
    const std::vector<std::pair<std::string, std::string>> expected{
        {"dbname", "jobs"}, {"host", "db"}, {"port", "5433"}, {"user", "ann"}};
    EXPECT_EQ(connection_parts(options), expected);
}

TEST(TopOptions, TakeDatabaseAndRoleWithoutAnOption)
{
    const Options options = parse_command_line({"service=jobs", "ann"});
    EXPECT_EQ(options.dbname, "service=jobs");
    EXPECT_EQ(options.user, "ann");
    EXPECT_EQ(error_of({"a", "b", "c"}), "\"c\" is one word too many: DBNAME and ROLE are all");
}

TEST(TopOptions, SayWhatIsWrong)
{
    EXPECT_EQ(error_of({"-x"}), "there is no option -x");
    EXPECT_EQ(error_of({"--sort"}), "--sort needs a value: COLUMN");
    EXPECT_EQ(error_of({"--once=yes"}), "--once takes no value");
    EXPECT_EQ(error_of({"--delay", "0"}),
              "--delay 0: needs seconds from 0.1 to 3600, such as 1 or 0.5");
    EXPECT_EQ(error_of({"-n", "-1"}), "-n -1: needs a whole number from 0 to 100000");
    EXPECT_EQ(error_of({"--once", "--batch"}), "--once prints once: not with --batch");
}

TEST(TopOptions, HelpNamesEachOfThem)
{
    for (const Option &option : option_table())
        EXPECT_NE(help_text().find("--" + option.name), std::string::npos) << option.name;
}

}  // namespace

}  // namespace hipq::top
