// The parameters that a job type may declare, and the job data that they refuse, with the texts.
#include "core/job/parameters.hpp"

#include <gtest/gtest.h>

namespace hipq::core {
namespace {

JsonMember word(const char *name, const char *text)
{
    return {name, JsonKind::string, {text}};
}

JsonMember flag(const char *name, bool is_true)
{
    return {name, JsonKind::boolean, {}, true, is_true};
}

JobParameter parameter(std::vector<JsonMember> declared)
{
    return std::get<JobParameter>(read_parameter("to", declared));
}

std::string refusal(std::vector<JsonMember> declared)
{
    const auto read = read_parameter("to", declared);
    const auto *problem = std::get_if<Problem>(&read);
    return problem == nullptr ? "" : problem->message;
}

std::string message_of(const std::optional<Problem> &problem)
{
    return problem.has_value() ? problem->message : "";
}

TEST(Parameters, KindsHaveTheNamesOfJsonSchema)
{
    for (const char *text : {"null", "boolean", "integer", "number", "string", "array", "object"}) {
        const auto kind = parse_json_kind(text);
        ASSERT_TRUE(kind.has_value()) << text;
        EXPECT_EQ(name(*kind), text);
    }
    EXPECT_FALSE(parse_json_kind("text").has_value());
    EXPECT_FALSE(parse_json_kind("").has_value());
}

TEST(Parameters, NothingDeclaredIsAnyValueAndNone)
{
    const JobParameter any = parameter({});
    EXPECT_FALSE(any.is_required || any.is_secret || any.has_default);
    EXPECT_FALSE(check_parameter(any, std::nullopt, "mail").has_value());
    for (std::size_t i = 0; i < json_kind_count; ++i)
        EXPECT_FALSE(check_parameter(any, static_cast<JsonKind>(i), "mail").has_value()) << i;
}

TEST(Parameters, EachTypeTakesItsOwnKindAlone)
{
    for (std::size_t declared = 0; declared < json_kind_count; ++declared) {
        const std::string text(name(static_cast<JsonKind>(declared)));
        const JobParameter one = parameter({word("type", text.c_str())});
        for (std::size_t found = 0; found < json_kind_count; ++found) {
            const bool is_number =
                text == "number" && static_cast<JsonKind>(found) == JsonKind::integer;
            EXPECT_EQ(check_parameter(one, static_cast<JsonKind>(found), "mail").has_value(),
                      found != declared && !is_number)
                << text << " " << found;
        }
    }
}

TEST(Parameters, SeveralTypesTakeEachOfTheirs)
{
    const JobParameter two = parameter({{"type", JsonKind::array, {"null", "string"}}});
    EXPECT_FALSE(check_parameter(two, JsonKind::null, "mail").has_value());
    EXPECT_FALSE(check_parameter(two, JsonKind::string, "mail").has_value());
    EXPECT_EQ(message_of(check_parameter(two, JsonKind::integer, "mail")),
              R"("to" in job_data of job type "mail" is a number, not a string or null)");
}

TEST(Parameters, WhatIsRequiredMustBeThere)
{
    const JobParameter required = parameter({word("type", "string"), flag("required", true)});
    const auto problem = check_parameter(required, std::nullopt, "welcome");
    EXPECT_EQ(message_of(problem), R"(job_data of job type "welcome" lacks "to")");
    EXPECT_EQ(problem->hint, "It is required: a string.");
    EXPECT_EQ(problem->kind, Problem::Kind::invalid_value);
    EXPECT_TRUE(check_parameter(required, JsonKind::null, "welcome").has_value());
    EXPECT_FALSE(check_parameter(required, JsonKind::string, "welcome").has_value());
    EXPECT_FALSE(
        check_parameter(parameter({flag("required", false)}), std::nullopt, "welcome").has_value());
    EXPECT_EQ(check_parameter(parameter({flag("required", true)}), std::nullopt, "welcome")->hint,
              "It is required.");
}

TEST(Parameters, WhatHasADefaultIsNeverMissing)
{
    const JobParameter filled =
        parameter({flag("required", true), {"default", JsonKind::integer}, word("type", "number")});
    EXPECT_TRUE(filled.has_default);
    EXPECT_FALSE(check_parameter(filled, std::nullopt, "mail").has_value());
    EXPECT_TRUE(parameter({{"default", JsonKind::null}, flag("required", true)}).has_default);
}

TEST(Parameters, ANumberWithFractionIsNoInteger)
{
    EXPECT_EQ(
        message_of(check_parameter(parameter({word("type", "integer")}), JsonKind::number, "mail")),
        R"("to" in job_data of job type "mail" is a number, not an integer)");
}

TEST(Parameters, DataWithoutMembersAreRefused)
{
    EXPECT_EQ(not_an_object(JsonKind::string, "mail").message,
              R"(job_data of job type "mail" is a string, not an object)");
    EXPECT_EQ(not_an_object(JsonKind::null, "mail").message,
              R"(job_data of job type "mail" is null, not an object)");
}

TEST(Parameters, DeclarationsAreRefusedByName)
{
    EXPECT_EQ(refusal({word("type", "text")}), R"(unknown type "text" of parameter "to")");
    EXPECT_EQ(refusal({{"type", JsonKind::array, {"string", "text"}}}),
              R"(unknown type "text" of parameter "to")");
    EXPECT_EQ(refusal({{"type", JsonKind::array, {}}}), R"(invalid type of parameter "to")");
    EXPECT_EQ(refusal({{"type", JsonKind::array, {"string"}, false}}),
              R"(invalid type of parameter "to")");
    EXPECT_EQ(refusal({{"type", JsonKind::null}}), R"(invalid type of parameter "to")");
    EXPECT_EQ(refusal({flag("requried", true)}), R"(parameter "to" cannot have "requried")");
    EXPECT_EQ(refusal({word("required", "yes")}), R"("required" of parameter "to" is a string)");
    EXPECT_EQ(refusal({{"secret", JsonKind::integer}}),
              R"("secret" of parameter "to" is a number)");
    EXPECT_EQ(refusal({word("default", "x"), word("type", "integer")}),
              R"(the default of parameter "to" is a string, not an integer)");
    EXPECT_EQ(refusal({word("default", "x"), flag("secret", true)}),
              R"(secret parameter "to" cannot have a default)");
    EXPECT_EQ(refusal({word("default", "x"), flag("secret", false), word("type", "string")}), "");
    EXPECT_EQ(not_a_declaration("to", JsonKind::string).message,
              R"(parameter "to" is declared by a string, not an object)");
}

}  // namespace
}  // namespace hipq::core
