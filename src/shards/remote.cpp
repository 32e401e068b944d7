// Calls other nodes, for procedures that set up shards.
#include "shards/remote.hpp"

#include "nodes/nodes.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"
#include "pg/transaction.hpp"

namespace hipq::shards {

namespace {

std::vector<std::string> as_texts(const nodes::Answers &answers)
{
    std::vector<std::string> texts;
    for (const std::optional<std::string> &answer : answers)
        texts.push_back(answer.value_or(""));
    return texts;
}

}  // namespace

std::vector<std::string> ask(const std::string &conninfo, const std::string &statement)
{
    std::vector<std::string> answers;
    nodes::converse(conninfo,
                    [&](const nodes::Query &query) { answers = as_texts(query(statement)); });
    return answers;
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

void in_one_transaction(const std::string &conninfo, const std::function<void(const Ask &)> &talk)
{
    nodes::converse(conninfo, [&](const nodes::Query &query) {
        (void)query("BEGIN");
        talk([&](const std::string &statement) { return as_texts(query(statement)); });
        (void)query("COMMIT");
    });
}

std::string ask_one(const std::string &conninfo, const std::string &statement)
{
    return first_of(ask(conninfo, statement));
}

int version_of(const std::string &conninfo)
{
    return std::stoi(ask_one(conninfo, "SELECT current_setting('server_version_num')"));
}

int timeline_of(const std::string &conninfo)
{
    return std::stoi(
        ask_one(conninfo, "SELECT timeline_id::text FROM pg_catalog.pg_control_checkpoint()"));
}

std::string router_of(int instance_id)
{
    static constinit pg::Statement select_address(R"(
        SELECT string_agg(part[1], ' ')
        FROM hipq.shard_map AS map
        JOIN pg_catalog.pg_subscription AS known ON known.subname = 'hipq_' || left(map.cluster::text, 8) || '_to_' || map.own_node
        JOIN pg_catalog.pg_database AS database ON database.oid = known.subdbid AND database.datname = current_database()
        CROSS JOIN regexp_matches(known.subconninfo, '\y((?:host|port|dbname)\s*=\s*(?:''[^'']*''|\S+))', 'g') AS part
        WHERE map.instance_id = $1)");
    const std::string address =
        pg::as_hipq([&] { return select_address.run_latest(instance_id).front().text(0); });
    return "the router" + (address.empty() ? "" : ", " + address);
}

std::string call_of(const char *function, const std::vector<std::string> &arguments)
{
    std::string call = std::string("SELECT ") + function + "(";
    for (const std::string &argument : arguments)
        call.append(call.back() == '(' ? "" : ", ").append(pg::quote_literal(argument));
    return call + ")::text";
}

}  // namespace hipq::shards
