// Statements over the tables of one queue.
#include "queue_statements.hpp"

namespace hipq::storage {

namespace {

struct Kept {
    std::string sql;
    pg::Statement statement;
    explicit Kept(std::string statement_text) : sql(std::move(statement_text)), statement(sql.c_str()) {}
};

using Key =
    std::pair<const char *, std::string>;  // text and table: a new queue may take the number of none, but the name of an old one
using Statements = std::map<Key, std::unique_ptr<Kept>>;

constinit Statements *statements = nullptr;

void replace_all(std::string &text, std::string_view placeholder, const std::string &value)
{
    for (std::size_t at = text.find(placeholder); at != std::string::npos; at = text.find(placeholder, at + value.size()))
        text.replace(at, placeholder.size(), value);
}

std::string with_tables(const char *text, const Queue &queue)
{
    std::string sql = text;
    replace_all(sql, "{table}", queue.qualified_table());
    replace_all(sql, "{live}", queue.qualified_live_table());
    return sql;
}

}  // namespace

pg::Statement &statement_for(const Queue &queue, const char *text)
{
    if (statements == nullptr)
        statements = new Statements();
    std::unique_ptr<Kept> &kept = (*statements)[Key{text, queue.table}];
    if (kept == nullptr)
        kept = std::make_unique<Kept>(with_tables(text, queue));
    return kept->statement;
}

}  // namespace hipq::storage
