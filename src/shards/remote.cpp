// Calls other nodes by dblink.
#include "shards/remote.hpp"

#include "nodes/nodes.hpp"
#include "pg/quote.hpp"
#include "pg/transaction.hpp"

namespace hipq::shards {

std::vector<std::string> ask(const std::string &conninfo, const std::string &statement)
{
    const std::string schema = nodes::schema_of_dblink();
    return pg::as_extension_owner([&] {
        std::vector<std::string> answers;
        for (const pg::Row row : pg::run_once("SELECT answer.value FROM " + pg::quote_name(schema) +
                                                  ".dblink($1, $2) AS answer (value text)",
                                              conninfo, statement))
            answers.push_back(row.text(0));
        return answers;
    });
}

std::string ask_one(const std::string &conninfo, const std::string &statement)
{
    const std::vector<std::string> answers = ask(conninfo, statement);
    return answers.empty() ? std::string() : answers.front();
}

std::string call_of(const char *function, const std::vector<std::string> &arguments)
{
    std::string call = std::string("SELECT ") + function + "(";
    for (const std::string &argument : arguments)
        call.append(call.back() == '(' ? "" : ", ").append(pg::quote_literal(argument));
    return call + ")::text";
}

}  // namespace hipq::shards
