// Letters between nodes: which node may send which letter, and what the letter must contain.
#include "core/shards/letters.hpp"

#include "core/shards/ids.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

using namespace hipq::core;

namespace {

constexpr LetterLine to_router{"app", 1, 0};
constexpr LetterLine to_shard{"app", 0, 1};

Json text(std::string_view value)
{
    return {.kind = Json::Kind::text, .text = value};
}
Json number(std::int64_t value)
{
    return {.kind = Json::Kind::number, .integer = value};
}
Json list(std::vector<Json> elements)
{
    return {.kind = Json::Kind::list, .elements = std::move(elements)};
}
Json object(std::vector<std::pair<std::string_view, Json>> fields)
{
    return {.kind = Json::Kind::object, .fields = std::move(fields)};
}

LetterHead head_of(const LetterLine &line, std::string_view kind)
{
    return {line.instance, line.sender, line.receiver, kind, true};
}

// Empty: no complaint.
std::string problem(std::string_view kind, const Json &body, const LetterLine &line)
{
    return problem_of_body(*find_letter_kind(kind), &body, line).value_or("");
}

Json returned(Json slot, Json busy)
{
    return object(
        {{"slots", list({object({{"slot", std::move(slot)}, {"busy", std::move(busy)}})})}});
}

Json map_of(std::size_t slots, Json node)
{
    return object({{"generation", number(7)}, {"nodes", list(std::vector<Json>(slots, node))}});
}

// A value that is valid for a field.
Json good_value(const LetterField &field, const LetterLine &line)
{
    static const std::string longest(10'000, 'x');
    switch (field.type) {
    case FieldType::integer:
        return number(field.most);
    case FieldType::number:
        return {.kind = Json::Kind::number};
    case FieldType::boolean:
        return {.kind = Json::Kind::boolean};
    case FieldType::text:
        return text(std::string_view(longest).substr(0, static_cast<std::size_t>(field.most)));
    case FieldType::time:
        return text("2026-01-01T00:00:00+00:00");
    case FieldType::list:
    case FieldType::names:
    case FieldType::busy_keys:
        return list({});
    case FieldType::own_instance:
        return text(line.instance);
    case FieldType::own_queue:
        return text("app.mail");
    case FieldType::sender:
        return number(line.sender);
    case FieldType::receiver:
        return number(line.receiver);
    case FieldType::any:
    case FieldType::nothing:
        break;
    }
    return object({});
}

// A body in which each field has the value that `choose` returns; if it returns nothing, the body
// lacks the field.
template <class Choice>
Json body_of(const LetterKind &kind, const Choice &choose)
{
    Json body = object({});
    for (const LetterField &field : kind.fields) {
        const std::optional<Json> value = choose(field);
        if (!value.has_value())
            continue;
        if (field.list.empty()) {
            body.fields.emplace_back(field.name, *value);
            continue;
        }
        for (auto &[name, elements] : body.fields) {
            if (name != field.list)
                continue;
            if (field.name.empty())
                std::ranges::fill(elements.elements, *value);
            else
                for (Json &element : elements.elements)
                    element.fields.emplace_back(field.name, *value);
        }
    }
    return body;
}

Json good_body(const LetterKind &kind, const LetterLine &line, const LetterField *other = nullptr,
               const std::optional<Json> &value = std::nullopt)
{
    return body_of(kind, [&](const LetterField &field) -> std::optional<Json> {
        if (&field == other)
            return value;
        if (field.type == FieldType::nothing)
            return std::nullopt;
        if (field.type == FieldType::list)
            return list(std::vector<Json>(
                static_cast<std::size_t>(std::max<std::int64_t>(field.least, 1)), object({})));
        return good_value(field, line);
    });
}

LetterLine line_of(const LetterKind &kind)
{
    return kind.senders == Senders::router ? to_shard : to_router;
}

}  // namespace

TEST(Letters, are_taken_from_who_has_brought_them_only)
{
    EXPECT_EQ(problem_of_head(head_of(to_router, "alive"), to_router), std::nullopt);
    for (const LetterHead &head :
         {LetterHead{"app", 2, 0, "alive", false}, LetterHead{"app", 0, 0, "alive", false},
          LetterHead{"app", 1, 2, "alive", false}, LetterHead{"other", 1, 0, "alive", false},
          LetterHead{"", 1, 0, "alive", false}})
        EXPECT_NE(problem_of_head(head, to_router), std::nullopt);
    EXPECT_EQ(problem_of_head({"other", 2, 3, "alive", false}, to_router),
              "it says that it is from node 2 of instance \"other\" to node 3");
    const std::string long_name(100'000, 'x');
    EXPECT_LT(problem_of_head({long_name, 2, 3, "alive", false}, to_router)->size(), 300U);
}

TEST(Letters, have_senders)
{
    const auto sent_by = [](const LetterLine &line) {
        std::set<std::string_view> names;
        for (const LetterKind &kind : letter_kinds())
            if (!problem_of_head(head_of(line, kind.name), line).has_value())
                names.insert(kind.name);
        return names;
    };
    EXPECT_EQ(sent_by(to_router), (std::set<std::string_view>{"jobs", "moved", "returned", "stats",
                                                              "permit_ask", "rejected", "alive"}));
    EXPECT_EQ(sent_by(to_shard),
              (std::set<std::string_view>{"jobs", "moved", "returned", "last", "map", "set_up",
                                          "permit_answer", "rejected", "alive"}));
}

TEST(Letters, of_kinds_to_come_are_told_from_nonsense)
{
    EXPECT_EQ(find_letter_kind("postcard"), nullptr);
    EXPECT_EQ(problem_of_head(head_of(to_router, "postcard"), to_router), std::nullopt);
    for (const std::string &kind : {std::string(), std::string("Post card"), std::string(64, 'x')})
        EXPECT_NE(problem_of_head(head_of(to_router, kind), to_router), std::nullopt);
}

TEST(Letters, of_jobs_have_some)
{
    EXPECT_EQ(problem_of_head({"app", 1, 0, "jobs", false}, to_router), "its jobs are missing");
    EXPECT_EQ(problem_of_head({"app", 1, 0, "moved", false}, to_router), "its jobs are missing");
}

// A complete letter of each kind is valid; it is invalid if any field is missing or has another
// type.
TEST(Letters, are_checked_field_by_field)
{
    for (const LetterKind &kind : letter_kinds()) {
        if (!kind.has_body)
            continue;
        const LetterLine line = line_of(kind);
        EXPECT_EQ(problem(kind.name, good_body(kind, line), line), "") << kind.name;
        const std::string missing = kind.needs_body ? "its body is missing" : "";
        EXPECT_EQ(problem_of_body(kind, nullptr, line).value_or(""), missing) << kind.name;
        EXPECT_EQ(problem(kind.name, Json{}, line), "its body is no object") << kind.name;
        EXPECT_EQ(problem(kind.name, list({}), line), "its body is no object") << kind.name;
        for (const LetterField &field : kind.fields) {
            const std::string shown = std::string(kind.name) + " " + std::string(field.list) + " " +
                                      std::string(field.name);
            const bool may_be_missing = !field.is_needed;
            EXPECT_EQ(problem(kind.name, good_body(kind, line, &field), line).empty(),
                      may_be_missing)
                << shown;
            EXPECT_EQ(problem(kind.name, good_body(kind, line, &field, Json{}), line).empty(),
                      may_be_missing)
                << shown;
            if (field.type == FieldType::any)
                continue;
            const bool is_boolean = field.type == FieldType::boolean;
            const Json wrong =
                is_boolean ? number(1) : Json{.kind = Json::Kind::boolean, .integer = {}};
            EXPECT_NE(problem(kind.name, good_body(kind, line, &field, wrong), line), "") << shown;
        }
    }
}

TEST(Letters, keep_bounds)
{
    for (const LetterKind &kind : letter_kinds())
        for (const LetterField &field : kind.fields) {
            const LetterLine line = line_of(kind);
            const auto is_good = [&](const Json &value) {
                return problem(kind.name, good_body(kind, line, &field, value), line).empty();
            };
            constexpr std::int64_t top = std::numeric_limits<std::int64_t>::max();
            if (field.type == FieldType::integer) {
                EXPECT_TRUE(is_good(number(field.least)) && is_good(number(field.most)));
                EXPECT_FALSE(field.most < top && is_good(number(field.most + 1))) << field.name;
                EXPECT_FALSE(field.least > -top && is_good(number(field.least - 1))) << field.name;
                EXPECT_FALSE(is_good(Json{.kind = Json::Kind::number})) << "no whole number";
            } else if (field.type == FieldType::text) {
                const std::string longer(static_cast<std::size_t>(field.most) + 1, 'x');
                EXPECT_FALSE(is_good(text(longer))) << field.name;
            } else if (field.type == FieldType::list && field.most < 5'000) {
                const auto size = static_cast<std::size_t>(field.most) + 1;
                EXPECT_FALSE(is_good(list(std::vector<Json>(size, object({}))))) << field.name;
            }
        }
}

TEST(Letters, tell_what_is_wrong_and_where)
{
    EXPECT_EQ(problem("returned", returned(number(0), list({})), to_router),
              "slots[0].slot is wrong");
    EXPECT_EQ(problem("returned", returned(number(1), Json{}), to_router),
              "slots[0].busy is missing");
    EXPECT_EQ(problem("returned", object({{"slots", list({number(1)})}}), to_router),
              "slots[0] is no object");
    EXPECT_EQ(problem("map", map_of(4096, number(1024)), to_shard), "nodes[0] is wrong");
    EXPECT_EQ(problem("map", map_of(4095, number(0)), to_shard), "nodes is wrong");
    EXPECT_EQ(problem("map", map_of(4096, Json{}), to_shard), "nodes[0] is missing");
}

TEST(Letters, name_busy_keys)
{
    const Json key = list({text("mail"), text("send"), text("k")});
    const Json awaits = object({{"queue", text("mail")}, {"awaits", text("jobs")}});
    EXPECT_EQ(problem("returned", returned(number(1), list({key, awaits})), to_router), "");
    for (const Json &wrong : {text("mail"), list({}), list({text("mail"), text("send")}),
                              list({text("mail"), text("send"), number(1)}), object({}),
                              object({{"queue", text("mail")}}),
                              object({{"queue", number(1)}, {"awaits", text("jobs")}})})
        EXPECT_EQ(problem("returned", returned(number(1), list({wrong})), to_router),
                  "slots[0].busy is wrong");
}

TEST(Letters, set_up_their_own_instance_alone)
{
    const auto set_up = [](std::string_view section, std::string_view name, std::string_view is) {
        return problem("set_up", object({{section, list({object({{name, text(is)}})})}}), to_shard);
    };
    EXPECT_EQ(set_up("queues", "queue", "app.mail"), "");
    for (const char *other : {"other.mail", "application.mail", "app", "mail", "app.mail.x", ""})
        for (const char *section : {"queues", "job_types", "pauses"})
            EXPECT_NE(set_up(section, "queue", other), "") << section << other;
    EXPECT_EQ(set_up("instances", "name", "app"), "");
    EXPECT_NE(set_up("instances", "name", "other"), "");
    const Json strategy = object({{"name", text("app")}, {"table_naming_strategy", text("$2")}});
    EXPECT_EQ(problem("set_up", object({{"instances", list({strategy})}}), to_shard),
              "instances[0].table_naming_strategy may not be there");
    EXPECT_EQ(problem("set_up", object({{"grants", list({})}}), to_shard),
              "grants may not be there");
}

TEST(Letters, may_say_what_this_release_does_not_know)
{
    Json body = returned(number(1), list({}));
    body.fields.emplace_back("later", number(1));
    body.fields.front().second.elements.front().fields.emplace_back("later", object({}));
    EXPECT_EQ(problem("returned", body, to_router), "");
}

TEST(Letters, bring_jobs_that_their_sender_may_have)
{
    const auto id = [](int slot, int node) { return compose_id({slot, node, 5}).value(); };
    EXPECT_TRUE(may_send_job(1, id(7, 1)));
    EXPECT_TRUE(may_send_job(1, id(7, 2))) << "its slot was on shard 1 meanwhile";
    EXPECT_TRUE(may_send_job(1, id(7, 0)));
    EXPECT_TRUE(may_send_job(1, id(router_slot, 1))) << "made there for a queue of the router";
    EXPECT_FALSE(may_send_job(1, id(router_slot, 2)));
    EXPECT_FALSE(may_send_job(1, 4'711)) << "never leaves the router";
    EXPECT_TRUE(may_send_job(router_node, 4'711));
    for (const std::int64_t no_id : {std::int64_t{0}, std::int64_t{-1}, first_id})
        for (const int sender : {0, 1})
            EXPECT_FALSE(may_send_job(sender, no_id));
}

TEST(Letters, are_those_of_the_comment_of_the_outbox)
{
    std::ifstream file(std::string(HIPQ_INSTALL_SCRIPTS) + "/shards/shards.sql");
    std::stringstream script;
    script << file.rdbuf();
    const std::string text_of_script = script.str();
    const std::size_t begin = text_of_script.find("COMMENT ON COLUMN hipq.shard_outbox.kind");
    const std::string comment =
        text_of_script.substr(begin, text_of_script.find(";\n", begin) - begin);
    for (const LetterKind &kind : letter_kinds())
        EXPECT_NE(comment.find(kind.name), std::string::npos) << kind.name;
}
