// Finds the line by which a letter has come, and checks it by the table of core/shards/letters.hpp.
#include "shards/letter_check.hpp"

#include "core/shards/letters.hpp"
#include "core/text/names.hpp"
#include "nodes/nodes.hpp"
#include "pg/transaction.hpp"

extern "C" {
#include "utils/jsonb.h"
#include "utils/numeric.h"
}

namespace hipq::shards {

namespace {

// ---- lines ----

// $1 prefix of the name of a line, $2 the shard, $3 whether it brings what the shard sends.
constinit pg::Statement select_line(R"(
    SELECT instance.name, CASE WHEN $3 THEN $2 ELSE 0 END, map.own_node, map.timeline
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    LEFT JOIN hipq.shard AS shard ON shard.instance_id = map.instance_id AND shard.node = $2 AND shard.channel = $1
    WHERE CASE
              WHEN $3 THEN map.own_node = 0 AND shard.node IS NOT NULL
              ELSE map.own_node = $2 AND map.own_node > 0 AND 'hipq_' || left(map.cluster::text, 8) = $1
          END)");

// ---- JSON ----

using core::Json;

// A piece of a value, as an iterator returns it.
struct Token {
    JsonbIteratorToken kind;
    JsonbValue value;
    bool is_integer;
    std::int64_t integer;
};

struct Tokens {
    Token *first;
    std::size_t count;
    std::size_t capacity;

    void add(JsonbIteratorToken kind, const JsonbValue &value);
};

// ---- call inside pg::call() only ----

void note_integer(Token &token)
{
    if (token.value.type != jbvNumeric)
        return;
    const Datum number = NumericGetDatum(token.value.val.numeric);
    const auto is = [&](PGFunction compare, std::int64_t bound) {
        return DatumGetBool(
            DirectFunctionCall2(compare, number, NumericGetDatum(::int64_to_numeric(bound))));
    };
    if (is(::numeric_lt, std::numeric_limits<std::int64_t>::min()) ||
        is(::numeric_gt, std::numeric_limits<std::int64_t>::max()))
        return;
    token.integer = DatumGetInt64(DirectFunctionCall1(::numeric_int8, number));
    token.is_integer = is(::numeric_eq, token.integer);
}

void Tokens::add(JsonbIteratorToken kind, const JsonbValue &value)
{
    if (count == capacity) {
        constexpr std::size_t at_first = 64;
        capacity = capacity == 0 ? at_first : 2 * capacity;
        const Size bytes = capacity * sizeof(Token);
        first = static_cast<Token *>(first == nullptr
                                         ? ::MemoryContextAllocHuge(CurrentMemoryContext, bytes)
                                         : ::repalloc_huge(first, bytes));
    }
    first[count] = {kind, value, false, 0};
    if (kind == WJB_ELEM || kind == WJB_VALUE)
        note_integer(first[count]);
    ++count;
}

// A value below the deepest level that is read comes as one token.
Tokens tokens_of(Datum json)
{
    Tokens tokens{};
    JsonbValue value{};
    JsonbIterator *rest = ::JsonbIteratorInit(&DatumGetJsonbP(json)->root);
    int level = 0;
    for (;;) {
        const JsonbIteratorToken kind =
            ::JsonbIteratorNext(&rest, &value, level >= core::most_levels_of_letter);
        if (kind == WJB_DONE)
            return tokens;
        tokens.add(kind, value);
        if (kind == WJB_BEGIN_ARRAY || kind == WJB_BEGIN_OBJECT)
            ++level;
        else if (kind == WJB_END_ARRAY || kind == WJB_END_OBJECT)
            --level;
        CHECK_FOR_INTERRUPTS();
    }
}

// ---- C++ ----

std::string_view text_in(const JsonbValue &value)
{
    return {value.val.string.val, static_cast<std::size_t>(value.val.string.len)};
}

Json scalar_in(const Token &token)
{
    Json json;
    switch (token.value.type) {
    case jbvBool:
        json.kind = Json::Kind::boolean;
        break;
    case jbvNumeric:
        json.kind = Json::Kind::number;
        if (token.is_integer)
            json.integer = token.integer;
        break;
    case jbvString:
        json.kind = Json::Kind::text;
        json.text = text_in(token.value);
        break;
    case jbvBinary:
        json.kind = JsonContainerIsArray(token.value.val.binary.data) ? Json::Kind::list
                                                                      : Json::Kind::object;
        break;
    default:
        break;
    }
    return json;
}

// Returns the value that begins at a token, and moves the pointer behind it.
Json json_at(const Token *&token)
{
    Json json;
    if (token->kind == WJB_BEGIN_ARRAY) {
        const bool is_scalar = token->value.val.array.rawScalar;
        json.kind = Json::Kind::list;
        for (++token; token->kind != WJB_END_ARRAY;)
            json.elements.push_back(json_at(token));
        ++token;
        return is_scalar ? json.elements.front() : json;
    }
    if (token->kind == WJB_BEGIN_OBJECT) {
        json.kind = Json::Kind::object;
        for (++token; token->kind != WJB_END_OBJECT;) {
            const std::string_view name = text_in((token++)->value);
            json.fields.emplace_back(name, json_at(token));
        }
        ++token;
        return json;
    }
    return scalar_in(*token++);
}

std::optional<Json> json_of_body(pg::RawValue body)
{
    if (body.null)
        return std::nullopt;
    const Tokens tokens = pg::call([&] { return tokens_of(body.value); });
    const Token *first = tokens.first;
    return json_at(first);
}

}  // namespace

// The name has all parts: core::line_to_shard(), core::line_from_shard().
std::optional<OwnLine> line_of_subscription(const std::string &subscription)
{
    const auto name = core::parse_line(subscription);
    if (!name.has_value())
        return std::nullopt;
    const pg::Rows rows = pg::as_extension_owner([&] {
        return select_line.run_latest(name->channel, static_cast<std::int16_t>(name->shard),
                                      name->is_from_shard);
    });
    if (rows.empty())
        return std::nullopt;
    const pg::Row row = rows.front();
    return OwnLine{row.text(0), row.integer32(1), row.integer32(2), row.text(3)};
}

std::optional<OwnLine> line_named_by(const Letter &letter)
{
    const auto own = nodes::node_beside(letter.instance, letter.sender);
    return own.has_value()
               ? std::optional(OwnLine{letter.instance, letter.sender, own->node, own->timeline})
               : std::nullopt;
}

std::optional<std::string> problem_of(const Letter &letter, const OwnLine &line)
{
    const core::LetterLine core_line{line.instance, line.sender, line.own_node};
    if (auto problem = core::problem_of_head(
            {letter.instance, letter.sender, letter.node, letter.kind, !letter.jobs.null},
            core_line))
        return problem;
    const core::LetterKind *kind = core::find_letter_kind(letter.kind);
    if (kind == nullptr)
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("node %d of instance \"%s\" has sent \"%s\", which this release of hipq "
                          "does not know",
                          letter.sender, letter.instance.c_str(), letter.kind.c_str()),
                   errhint("Update hipq here: what was sent waits."));
    if (!kind->has_body)
        return std::nullopt;
    const std::optional<Json> body = json_of_body(letter.body);
    return core::problem_of_body(*kind, body.has_value() ? &*body : nullptr, core_line);
}

}  // namespace hipq::shards
