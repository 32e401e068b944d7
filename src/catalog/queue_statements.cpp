// Prepares statements over the tables of one queue, from one constant text for all queues.
#include "catalog/queue_statements.hpp"

#include "pg/quote.hpp"

namespace hipq::catalog {

namespace {

struct Kept {
    std::string sql;
    pg::Statement statement;
    std::uint64_t used = 0;  // the value of `uses` at the last use
    explicit Kept(std::string statement_text)
        : sql(std::move(statement_text)), statement(sql.c_str())
    {
    }
};

struct Key {
    const char *text;
    std::string table;  // a new queue never reuses a queue number, but it may reuse a table name
    std::string scope;  // the queue's shard key, if keys are unique per shard key; empty: unique in
                        // the whole queue
    bool has_waits;
    auto operator<=>(const Key &) const = default;  // NOLINT(modernize-use-nullptr)
};
using Statements = std::map<Key, std::unique_ptr<Kept>>;

constinit Statements *statements = nullptr;

void replace_all(std::string &text, std::string_view placeholder, const std::string &value)
{
    for (std::size_t at = text.find(placeholder); at != std::string::npos;
         at = text.find(placeholder, at + value.size()))
        text.replace(at, placeholder.size(), value);
}

std::string scope_of_keys(const Queue &queue)
{
    return queue.has_keys_by_shard() ? queue.shard_key_text : std::string();
}

// Computed as in nodes/placement.cpp, except that #>> also counts from the end of an array.
std::string found_shard_key(const std::string &row, const std::optional<core::ShardKey> &shard_key)
{
    std::string result = "coalesce(";
    if (shard_key.has_value() && shard_key->column.has_value())
        result += row + "." + std::string(core::name(*shard_key->column)) + ", ";
    if (shard_key.has_value() && !shard_key->path.empty()) {
        std::string path;
        for (const std::string &name : shard_key->path)
            path.append(path.empty() ? "" : ", ").append(pg::quote_literal(name));
        result += row + ".job_data #>> ARRAY[" + path + "], ";
    }
    return result + "'NONE')";
}

// The most statements that a process keeps; each takes some 20 kB. A process that works on many
// queues in turn drops the plans of queues that it seldom uses.
constexpr std::size_t most_kept = 1'024;
constinit std::uint64_t uses = 0;

// From this many statements on, look which of their tables still exist.
constexpr std::size_t fewest_to_look_at = 64;
constinit std::size_t next_look = fewest_to_look_at;

bool is_there(const std::string &table)
{
    return pg::call([&] {
        return OidIsValid(::get_relname_relid(table.c_str(), ::get_namespace_oid("hipq", true)));
    });
}

// Statements that are being executed stay: the code that they run may execute them again.
template <class IsToGo>
void forget_if(const IsToGo &is_to_go)
{
    for (auto entry = statements->begin(); entry != statements->end();) {
        Kept &kept = *entry->second;
        const bool goes = is_to_go(*entry) && !kept.statement.is_under_way();
        if (goes)
            kept.statement.forget_plan();
        entry = goes ? statements->erase(entry) : std::next(entry);
    }
}

void forget_those_of_dropped_tables()
{
    std::map<std::string, bool> tables;
    for (const auto &[key, kept] : *statements)
        tables[key.table] = false;
    for (auto &[table, there] : tables)
        there = is_there(table);
    forget_if([&](const auto &entry) { return !tables[entry.first.table]; });
}

// Frees the half that was used longest ago.
void forget_oldest()
{
    std::vector<std::uint64_t> ages;
    for (const auto &entry : *statements)
        ages.push_back(entry.second->used);
    const auto middle = ages.begin() + static_cast<std::ptrdiff_t>(ages.size() / 2);
    std::nth_element(ages.begin(), middle, ages.end());
    forget_if([&](const auto &entry) { return entry.second->used <= *middle; });
}

// A process thus keeps at most twice as many statements as have existing tables, and seldom checks
// the tables.
void make_capacity()
{
    if (statements->size() < next_look)
        return;
    forget_those_of_dropped_tables();
    if (statements->size() >= most_kept)
        forget_oldest();
    next_look = std::clamp(statements->size() * 2, fewest_to_look_at, most_kept);
}

pg::Statement &used_now(Kept &kept)
{
    kept.used = ++uses;
    return kept.statement;
}

}  // namespace

namespace {

// Replaces a placeholder that contains the name of a row.
template <class Expression>
void fill_in(std::string &sql, std::string_view opening, const Expression &expression_of)
{
    for (std::size_t from = sql.find(opening); from != std::string::npos;
         from = sql.find(opening, from)) {
        const std::size_t to = sql.find('}', from);
        const std::string row = sql.substr(from + opening.size(), to - from - opening.size());
        sql.replace(from, to + 1 - from, expression_of(row));
    }
}

}  // namespace

std::string with_scope_of_keys(std::string sql, const Queue &queue)
{
    constexpr std::string_view opening = "{+";
    constexpr std::string_view closing = "+}";
    for (std::size_t from = sql.find(opening); from != std::string::npos;
         from = sql.find(opening, from)) {
        const std::size_t to = sql.find(closing, from);
        const std::string inner = sql.substr(from + opening.size(), to - from - opening.size());
        sql.replace(from, to + closing.size() - from, queue.has_keys_by_shard() ? inner : "");
    }
    const auto found = [&](const std::string &row) {
        return found_shard_key(row, queue.shard_key);
    };
    fill_in(sql, "{found shard key of ", found);
    fill_in(sql, "{shard key of ", [&](const std::string &row) {
        return "coalesce(nullif(" + row + ".shard_key, 'NONE'), " + found(row) + ")";
    });
    return sql;
}

namespace {

void fill_in_waits(std::string &sql, const Queue &queue)
{
    fill_in(sql, "{free ", [&](const std::string &row) {
        return queue.has_waits ? row + ".waits_for IS NULL" : std::string("true");
    });
    fill_in(sql, "{held ", [&](const std::string &row) {
        return queue.has_waits ? row + ".waits_for IS NOT NULL" : std::string("false");
    });
    fill_in(sql, "{holder ", [&](const std::string &row) {
        return queue.has_waits ? row + ".waits_for IS DISTINCT FROM 'key'" : std::string("true");
    });
    fill_in(sql, "{waits_for of ", [&](const std::string &row) {
        return queue.has_waits ? row + ".waits_for" : std::string("NULL::text");
    });
    fill_in(sql, "{batch_id of ", [&](const std::string &row) {
        return queue.has_waits ? row + ".batch_id" : std::string("NULL::bigint");
    });
    fill_in(sql, "{, schedule_time of ", [&](const std::string &row) {
        return queue.has_waits ? ", " + row + ".schedule_time" : std::string();
    });
    replace_all(sql, "{, schedule_time}", queue.has_waits ? ", schedule_time" : "");
    fill_in(sql, "{, batch_id of ", [&](const std::string &row) {
        return queue.has_waits ? ", " + row + ".batch_id" : std::string();
    });
    replace_all(sql, "{, batch_id}", queue.has_waits ? ", batch_id" : "");
}

std::string with_tables(const char *text, const Queue &queue)
{
    std::string sql = text;
    replace_all(sql, "{table}", queue.qualified_table());
    replace_all(sql, "{live}", queue.qualified_live_table());
    fill_in_waits(sql, queue);
    return with_scope_of_keys(std::move(sql), queue);
}

}  // namespace

pg::Statement &statement_for(const Queue &queue, const char *text)
{
    if (statements == nullptr)
        statements = new Statements();
    const Key key{text, queue.table, scope_of_keys(queue), queue.has_waits};
    if (const auto known = statements->find(key); known != statements->end())
        return used_now(*known->second);
    make_capacity();
    return used_now(
        *statements->emplace(key, std::make_unique<Kept>(with_tables(text, queue))).first->second);
}

}  // namespace hipq::catalog
