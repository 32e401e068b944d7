// Prepares statements over the tables of one queue: one constant text for all queues.
#include "queue_statements.hpp"

namespace hipq::catalog {

namespace {

struct Kept {
    std::string sql;
    pg::Statement statement;
    std::uint64_t used = 0;  // by the clock of uses
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

// A process keeps so many. One that goes from queue to queue has no plans of those that it seldom
// comes to: each takes some 20 kB.
constexpr std::size_t most_kept = 1'024;
constinit std::uint64_t uses = 0;

// Forgets the half that was used longest ago, those of tables that are gone among them.
void make_capacity()
{
    if (statements->size() < most_kept)
        return;
    std::vector<std::uint64_t> ages;
    for (const auto &entry : *statements)
        ages.push_back(entry.second->used);
    const auto middle = ages.begin() + static_cast<std::ptrdiff_t>(ages.size() / 2);
    std::nth_element(ages.begin(), middle, ages.end());
    for (auto entry = statements->begin(); entry != statements->end();) {
        Kept &kept = *entry->second;
        const bool stays = kept.used > *middle || kept.statement.is_under_way();
        if (!stays)
            kept.statement.forget_plan();
        entry = stays ? std::next(entry) : statements->erase(entry);
    }
}

pg::Statement &used_now(Kept &kept)
{
    kept.used = ++uses;
    return kept.statement;
}

}  // namespace

pg::Statement &statement_for(const Queue &queue, const char *text)
{
    if (statements == nullptr)
        statements = new Statements();
    const Key key{text, queue.table};
    if (const auto known = statements->find(key); known != statements->end())
        return used_now(*known->second);
    make_capacity();
    return used_now(
        *statements->emplace(key, std::make_unique<Kept>(with_tables(text, queue))).first->second);
}

}  // namespace hipq::catalog
