// Prepares statements over the tables of one queue: one constant text for all queues.
#include "queue_statements.hpp"

namespace hipq::catalog {

namespace {

struct Kept {
    std::string sql;
    pg::Statement statement;
    explicit Kept(std::string statement_text)
        : sql(std::move(statement_text)), statement(sql.c_str())
    {
    }
};

using Key = std::pair<const char *, std::string>;  // text and table: a new queue may take the
                                                   // number of none, but the name of an old one
using Statements = std::map<Key, std::unique_ptr<Kept>>;

constinit Statements *statements = nullptr;

void replace_all(std::string &text, std::string_view placeholder, const std::string &value)
{
    for (std::size_t at = text.find(placeholder); at != std::string::npos;
         at = text.find(placeholder, at + value.size()))
        text.replace(at, placeholder.size(), value);
}

std::string with_tables(const char *text, const Queue &queue)
{
    std::string sql = text;
    replace_all(sql, "{table}", queue.qualified_table());
    replace_all(sql, "{live}", queue.qualified_live_table());
    return sql;
}

// With that many it is worth a look which of their tables are still there.
constexpr std::size_t fewest_to_look_at = 64;
constinit std::size_t next_look = fewest_to_look_at;

bool is_there(const std::string &table)
{
    return pg::call([&] {
        return OidIsValid(::get_relname_relid(table.c_str(), ::get_namespace_oid("hipq", true)));
    });
}

void forget_those_of_dropped_tables()
{
    std::map<std::string, bool> tables;
    for (const auto &[key, kept] : *statements)
        tables[key.second] = false;
    for (auto &[table, there] : tables)
        there = is_there(table);
    for (auto entry = statements->begin(); entry != statements->end();) {
        Kept &kept = *entry->second;
        const bool stays = tables[entry->first.second] || kept.statement.is_under_way();
        if (!stays)
            kept.statement.forget_plan();
        entry = stays ? std::next(entry) : statements->erase(entry);
    }
}

// So a process has at most twice as many as it needs, and seldom looks.
void make_capacity()
{
    if (statements->size() < next_look)
        return;
    forget_those_of_dropped_tables();
    next_look = std::max(fewest_to_look_at, statements->size() * 2);
}

}  // namespace

pg::Statement &statement_for(const Queue &queue, const char *text)
{
    if (statements == nullptr)
        statements = new Statements();
    const Key key{text, queue.table};
    if (const auto known = statements->find(key); known != statements->end())
        return known->second->statement;
    make_capacity();
    return statements->emplace(key, std::make_unique<Kept>(with_tables(text, queue)))
        .first->second->statement;
}

}  // namespace hipq::catalog
