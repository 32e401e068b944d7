// Options of hipq-run: the command line, the file, and errors in them.
#include "options/options.hpp"
#include "options/values.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace hipq::run {

namespace {

using Words = std::vector<std::string>;

Options parse(Words words)
{
    return parse_command_line(words);
}

// Added to a valid command line.
std::string option_error(Words words)
{
    words.insert(words.begin(), {"--queue", "app.mail", "--types", "welcome"});
    words.insert(words.end(), {"--", "true"});
    try {
        parse_command_line(words);
    } catch (const UsageError &error) {
        return error.what();
    }
    return "none";
}

std::string config_error(const std::string &text)
{
    try {
        Options options;
        parse_config(text, options);
    } catch (const UsageError &error) {
        return error.what();
    }
    return "none";
}

}  // namespace

TEST(Options, AreReadUpToTheProgram)
{
    const Options options = parse({"-q", "app.mail,app.other", "--types=welcome", "-j8", "--poll",
                                   "--grace", "0.5", "./send-mail", "--jobs", "2"});
    EXPECT_EQ(options.queues, (Words{"app.mail", "app.other"}));
    EXPECT_EQ(options.types, (Words{"welcome"}));
    EXPECT_EQ(options.jobs, 8);
    EXPECT_TRUE(options.poll);
    EXPECT_EQ(options.grace, Seconds(0.5));
    EXPECT_EQ(options.command, (Words{"./send-mail", "--jobs", "2"}));
    EXPECT_FALSE(options.name.empty());
    EXPECT_LE(options.name.size(), 63U);
}

TEST(Options, OfListsAddUp)
{
    const Options options = parse({"-q", "a.b", "-q", "c.d", "-t", "x,y", "-t", "z", "--", "-odd"});
    EXPECT_EQ(options.queues, (Words{"a.b", "c.d"}));
    EXPECT_EQ(options.types, (Words{"x", "y", "z"}));
    EXPECT_EQ(options.command, (Words{"-odd"}));
}

TEST(Options, SayWhatIsMissing)
{
    EXPECT_THROW(parse({}), UsageError);
    EXPECT_THROW(parse({"-q", "a.b"}), UsageError);
    EXPECT_THROW(parse({"-q", "a.b", "-t", "x"}), UsageError);
    EXPECT_THROW(parse({"-q", "a.b", "-t", "x", "--"}), UsageError);
    EXPECT_THROW(parse({"-q", "a.b", "-t", "x", "--", ""}), UsageError);
    EXPECT_TRUE(parse({"--help"}).help);
    EXPECT_TRUE(parse({"-V"}).version);
}

TEST(Options, SayWhatIsWrong)
{
    EXPECT_EQ(option_error({}), "none");
    EXPECT_EQ(option_error({"--nonsense"}), "there is no option --nonsense");
    EXPECT_EQ(option_error({"-x"}), "there is no option -x");
    EXPECT_EQ(option_error({"--poll=yes"}), "--poll takes no value");
    EXPECT_EQ(option_error({"--jobs", "0"}), "--jobs 0: needs a whole number from 1 to 10000");
    EXPECT_EQ(option_error({"--jobs", "8x"}), "--jobs 8x: needs a whole number from 1 to 10000");
    EXPECT_EQ(option_error({"--jobs", ""}), "--jobs : needs a whole number from 1 to 10000");
    EXPECT_EQ(option_error({"--prefetch", "-1"}),
              "--prefetch -1: needs a whole number from 0 to 10000");
    EXPECT_EQ(option_error({"--queue", "a,,b"}),
              "--queue a,,b: needs names, with a comma between two");
    EXPECT_EQ(option_error({"--types", ""}), "--types : needs names, with a comma between two");
    EXPECT_EQ(option_error({"--log", "xml"}), "--log xml: needs \"text\" or \"json\"");
    EXPECT_EQ(option_error({"--log-level", "debug"}),
              "--log-level debug: needs \"info\", \"warning\" or \"error\"");
    EXPECT_EQ(option_error({"--on-failure", "x"}), "--on-failure x: needs \"retry\" or \"final\"");
    EXPECT_EQ(option_error({"--max-output", "0"}),
              "--max-output 0: needs a whole number from 1 to 1000000000");
    EXPECT_EQ(option_error({"--capabilities", "[1]"}), "--capabilities [1]: needs a JSON object");
    EXPECT_EQ(option_error({"--config", "/nowhere"}), "--config /nowhere: cannot be read");
    EXPECT_EQ(option_error({"--once", "--jobs", "2"}), "--once runs one job: not with --jobs");
    for (const char *name : {"--idle", "--grace", "--kill-after"})
        for (const char *value : {"-1", "x", "1s", "nan", "inf", ""})
            EXPECT_EQ(option_error({name, value}),
                      std::string(name) + " " + value +
                          ": needs a number of seconds, such as 10 or 0.5");
}

TEST(Options, AtTheEndNeedTheirValue)
{
    EXPECT_THROW(parse({"-t", "x", "--queue"}), UsageError);
}

TEST(Options, AllHaveAHelp)
{
    const std::string help = help_text();
    for (const Option &option : option_table())
        EXPECT_NE(help.find("--" + option.name), std::string::npos) << option.name;
}

TEST(Addresses, AreOfThisMachineUnlessTheySayMore)
{
    EXPECT_EQ(read_address("9188").host, "127.0.0.1");
    EXPECT_EQ(read_address(":9188").host, "127.0.0.1");
    EXPECT_EQ(read_address("0.0.0.0:9188").host, "0.0.0.0");
    EXPECT_EQ(read_address("[::1]:9188").host, "::1");
    EXPECT_EQ(read_address("[::1]:9188").port, "9188");
    for (const char *wrong : {"", "host", "host:", "host:0", "host:65536", "::1:9188", "1:2:3"})
        EXPECT_THROW(read_address(wrong), UsageError) << wrong;
}

TEST(Config, SaysAllThatTheCommandLineDoes)
{
    Options options;
    parse_config(R"({
        // a comment
        "dbname": "service=jobs", "queue": ["app.mail", "app.other"], "types": "welcome",
        "jobs": 8, "poll": true, "batch": false, "grace": 1.5, "capabilities": {"gpu": true},
        "command": ["./send-mail", "-v, w"]
    })",
                 options);
    EXPECT_EQ(options.conninfo, "service=jobs");
    EXPECT_EQ(options.queues, (Words{"app.mail", "app.other"}));
    EXPECT_EQ(options.types, (Words{"welcome"}));
    EXPECT_EQ(options.jobs, 8);
    EXPECT_TRUE(options.poll);
    EXPECT_FALSE(options.batch);
    EXPECT_EQ(options.grace, Seconds(1.5));
    EXPECT_EQ(options.capabilities, R"({"gpu":true})");
    EXPECT_EQ(options.command, (Words{"./send-mail", "-v, w"}));
}

TEST(Config, SaysWhatIsWrong)
{
    EXPECT_EQ(config_error("{").substr(0, 11), "is not JSON");
    EXPECT_EQ(config_error("[]"), "is not a JSON object");
    EXPECT_EQ(config_error(R"({"nonsense": 1})"), "\"nonsense\": there is no such key");
    EXPECT_EQ(config_error(R"({"config": "x"})"), "\"config\": there is no such key");
    EXPECT_EQ(config_error(R"({"jobs": "many"})"),
              "\"jobs\": needs a whole number from 1 to 10000");
    EXPECT_EQ(config_error(R"({"jobs": 1.5})"), "\"jobs\": needs a whole number from 1 to 10000");
    EXPECT_EQ(config_error(R"({"jobs": true})"), "\"jobs\": needs a value");
    EXPECT_EQ(config_error(R"({"jobs": null})"), "\"jobs\": needs a value");
    EXPECT_EQ(config_error(R"({"poll": "yes"})"), "\"poll\": needs true or false");
    EXPECT_EQ(config_error(R"({"queue": [1]})"), "\"queue\": a list has to be of texts");
    EXPECT_EQ(config_error(R"({"command": "x"})"),
              "\"command\": needs a list: the program and its arguments");
    EXPECT_EQ(config_error(R"({"command": []})"),
              "\"command\": needs a list: the program and its arguments");
}

TEST(Config, LosesAgainstTheCommandLine)
{
    const std::string path = testing::TempDir() + "hipq-run-options.json";
    std::ofstream(path) << R"({"queue": ["a.b"], "types": ["x"], "jobs": 3, "command": ["file"]})";
    const Options file = parse({"-c", path});
    EXPECT_EQ(file.jobs, 3);
    EXPECT_EQ(file.command, (Words{"file"}));
    const Options both = parse({"-q", "c.d", "-j", "4", "-c", path, "--", "line"});
    EXPECT_EQ(both.queues, (Words{"c.d"}));
    EXPECT_EQ(both.types, (Words{"x"}));
    EXPECT_EQ(both.jobs, 4);
    EXPECT_EQ(both.command, (Words{"line"}));
    std::remove(path.c_str());
}

}  // namespace hipq::run
