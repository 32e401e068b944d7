// Calls other nodes by dblink.
#include "shards/remote.hpp"

#include "pg/quote.hpp"
#include "pg/transaction.hpp"

namespace hipq::shards {

namespace {

constinit pg::Statement select_place(R"(
    SELECT place.nspname
    FROM pg_catalog.pg_extension AS extension
    JOIN pg_catalog.pg_namespace AS place ON place.oid = extension.extnamespace
    WHERE extension.extname = 'dblink')");

std::string place_of_dblink()
{
    const pg::Rows rows = select_place.run();
    if (rows.empty())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("extension \"dblink\" is not installed in this database"),
                   errhint("Run CREATE EXTENSION dblink: hipq calls the other servers of an "
                           "instance with it."));
    return rows.front().text(0);
}

}  // namespace

std::vector<std::string> ask(const std::string &conninfo, const std::string &statement)
{
    return pg::as_extension_owner([&] {
        std::vector<std::string> answers;
        for (const pg::Row row :
             pg::run_once("SELECT answer.value FROM " + pg::quote_name(place_of_dblink()) +
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
