// hipq-run doctor: its command line, and its output.
#include "doctor/report.hpp"
#include "options/options.hpp"

#include <gtest/gtest.h>

namespace hipq::run::doctor {

namespace {

const Finding error{"error",   "queue \"app.mail\"",  "owner without LOGIN", "It may not.",
                    "Let it.", "ALTER ROLE app LOGIN"};
const Finding warning{"warning",  "server",    "few worker slots",
                      "Too few.", "Raise it.", std::nullopt};
const Finding information{"information", "server",   "restart pending",
                          "It is.",      "Restart.", std::nullopt};

std::string doctor_error(const std::vector<std::string> &words)
{
    try {
        parse_command_line(words);
    } catch (const UsageError &wrong) {
        return wrong.what();
    }
    return "none";
}

TEST(Doctor, OptionsAreReadInEachForm)
{
    const Options options =
        parse_command_line({"-d", "service=jobs", "--format=json", "--fail-on", "warning"});
    EXPECT_EQ(options.conninfo, "service=jobs");
    EXPECT_EQ(options.format, Format::json);
    EXPECT_EQ(options.fail_on, Severity::warning);
    EXPECT_EQ(parse_command_line({}).fail_on, Severity::error);
    EXPECT_FALSE(parse_command_line({"--fail-on=never"}).fail_on.has_value());
}

TEST(Doctor, WrongOptionsAreToldByName)
{
    EXPECT_EQ(doctor_error({"--form", "json"}), "there is no option --form");
    EXPECT_EQ(doctor_error({"-d"}), "-d needs a value: CONNINFO");
    EXPECT_EQ(doctor_error({"--fail-on", "information"}),
              R"(--fail-on information: needs "error", "warning" or "never")");
}

TEST(Doctor, SeverityDecidesWhatCounts)
{
    EXPECT_FALSE(is_any({}, Severity::warning));
    EXPECT_FALSE(is_any({information}, Severity::warning));
    EXPECT_TRUE(is_any({warning}, Severity::warning));
    EXPECT_FALSE(is_any({warning}, Severity::error));
    EXPECT_TRUE(is_any({information, error}, Severity::error));
}

TEST(Doctor, TextHasStatementsAndASum)
{
    EXPECT_EQ(as_text({error, warning, information}, "app"),
              "error: queue \"app.mail\": owner without LOGIN\n"
              "    It may not.\n"
              "    Let it.\n"
              "    => ALTER ROLE app LOGIN;\n"
              "\n"
              "warning: server: few worker slots\n"
              "    Too few.\n"
              "    Raise it.\n"
              "\n"
              "information: server: restart pending\n"
              "    It is.\n"
              "    Restart.\n"
              "\n"
              "Database \"app\": 1 error, 1 warning, 1 for information.\n");
    EXPECT_EQ(as_text({}, "app"), "Database \"app\": nothing is wrong.\n");
}

TEST(Doctor, JsonIsAnArrayOfObjects)
{
    EXPECT_EQ(as_json({}), "[]\n");
    EXPECT_EQ(as_json({warning}), "[\n"
                                  "  {\n"
                                  "    \"severity\": \"warning\",\n"
                                  "    \"subject\": \"server\",\n"
                                  "    \"finding\": \"few worker slots\",\n"
                                  "    \"detail\": \"Too few.\",\n"
                                  "    \"hint\": \"Raise it.\",\n"
                                  "    \"statement\": null\n"
                                  "  }\n"
                                  "]\n");
}

}  // namespace

}  // namespace hipq::run::doctor
