// Calls other nodes by dblink.
#include "shards/remote.hpp"

#include "nodes/nodes.hpp"
#include "pg/quote.hpp"
#include "pg/subtransaction.hpp"
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

std::vector<std::string> ask_here(const std::string &statement)
{
    return pg::as_extension_owner([&] {
        std::vector<std::string> answers;
        for (const pg::Row row : pg::run_once(statement))
            answers.push_back(row.text(0));
        return answers;
    });
}

std::string first_of(const std::vector<std::string> &answers)
{
    return answers.empty() ? std::string() : answers.front();
}

bool comes_true(const std::function<bool()> &is_so)
{
    constexpr int most_looks = 300;  // a tenth of a second each
    static constinit pg::Statement sleep("SELECT pg_catalog.pg_sleep(0.1)");
    for (int looks = 0; looks < most_looks; ++looks) {
        if (is_so())
            return true;
        pg::as_extension_owner([] { sleep.run(); });
    }
    return false;
}

// A connection with a name outlives an error: so whatever happens, it is closed.
void converse(const std::string &conninfo, const std::function<void(const Ask &)> &talk)
{
    const std::string name = "hipq_conversation";
    const auto call = [&](const std::string &function, const auto &...arguments) {
        pg::as_extension_owner([&] {
            const std::string places = sizeof...(arguments) == 1 ? "($1)" : "($1, $2)";
            pg::run_once("SELECT " + pg::quote_name(nodes::schema_of_dblink()) + "." + function +
                             places,
                         arguments...);
        });
    };
    call("dblink_connect", name, conninfo);
    const auto error = pg::in_subtransaction(pg::Ending::kept, [&] {
        (void)ask(name, "BEGIN");
        talk([&](const std::string &statement) { return ask(name, statement); });
        (void)ask(name, "COMMIT");
    });
    call("dblink_disconnect", name);
    if (error.has_value())
        throw *error;  // NOLINT(cert-err60-cpp): as it came
}

std::string ask_one(const std::string &conninfo, const std::string &statement)
{
    return first_of(ask(conninfo, statement));
}

std::string call_of(const char *function, const std::vector<std::string> &arguments)
{
    std::string call = std::string("SELECT ") + function + "(";
    for (const std::string &argument : arguments)
        call.append(call.back() == '(' ? "" : ", ").append(pg::quote_literal(argument));
    return call + ")::text";
}

}  // namespace hipq::shards
