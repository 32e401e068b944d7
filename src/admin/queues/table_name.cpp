// Gives a new queue's table its name: runs the strategy of the instance, or takes the default.
//
// A strategy is SQL of the role that made the instance, but its errors reach the role that creates
// a queue, so each error names the strategy's instance.
#include "admin/queues/table_name.hpp"

#include "execute/execute.hpp"
#include "pg/internal_write.hpp"
#include "pg/short_text.hpp"
#include "tables/left_table.hpp"

namespace hipq::admin {

namespace {

constinit pg::Statement select_naming_strategy(
    "SELECT table_naming_strategy, created_by::oid FROM hipq.instance WHERE name = $1");

struct Strategy {
    std::string text;
    Oid creator;
};

// The result of a strategy.
struct Given {
    std::size_t rows;
    std::optional<std::string> name;
};

std::string full_name(const core::QueueName &name)
{
    return name.instance + "." + name.queue;
}

// For messages.
std::string shown_strategy(const std::string &strategy)
{
    return "The strategy is " + pg::short_text(strategy, core::most_message) + ".";
}

std::string wanted()
{
    std::string text = "The strategy must give one text for $1 (instance) and $2 (queue): the name "
                       "of a table that schema hipq does not have yet, at most ";
    text += std::to_string(core::max_identifier_length);
    text += " lower-case letters, digits and underscores, first a letter.";
    return text;
}

constinit bool are_defaults_demanded = false;

Strategy strategy_of(const std::string &instance)
{
    Strategy strategy{"NONE", InvalidOid};
    if (are_defaults_demanded)
        return strategy;
    pg::as_hipq([&] {
        for (const pg::Row row : select_naming_strategy.run(instance))
            strategy = {row.text(0), row.oid(1)};
    });
    return strategy;
}

// Runs the strategy with its maker's rights. It is a security-restricted operation, because code
// that the strategy deferred would run with the caller's rights. It does not use the caller's
// search_path, which could lead to the caller's code.
Given run_here(const std::string &strategy, const core::QueueName &name)
{
    const execute::Visit visit(execute::temporary_objects());
    pg::run_as_caller("SET LOCAL search_path = pg_catalog, pg_temp");
    const pg::Rows rows = pg::run_once("SELECT strategy.name::pg_catalog.text FROM (SELECT " +
                                           strategy + "\n) AS strategy(name)",
                                       name.instance, name.queue);
    execute::drop_temporary_objects_but(visit.clients_objects());
    return {rows.size(), rows.size() == 1 ? rows.front().maybe_text(0) : std::nullopt};
}

bool ends_statement(const pg::Error &error)
{
    return ERRCODE_TO_CATEGORY(error.sqlerrcode()) == ERRCODE_OPERATOR_INTERVENTION;
}

[[noreturn]] void raise_failed(const Strategy &strategy, const core::QueueName &name,
                               const pg::Error &error)
{
    const std::string queue = full_name(name);
    const std::string about = shown_strategy(strategy.text);
    const std::string hint = (error.hint().has_value() ? *error.hint() + " " : "") + wanted();
    const std::string says =
        error.message() + (error.detail().has_value() ? " (" + *error.detail() + ")" : "");
    const std::string context = error.context().value_or("");
    HIPQ_RAISE(errcode(error.sqlerrcode()),
               errmsg("table_naming_strategy of instance \"%s\" fails for queue \"%s\": %s",
                      name.instance.c_str(), queue.c_str(), says.c_str()),
               errdetail("%s", about.c_str()), errhint("%s", hint.c_str()),
               context.empty() ? 0 : errcontext("%s", context.c_str()));
}

Given run(const Strategy &strategy, const core::QueueName &name)
{
    execute::refuse_open_cursors("a table_naming_strategy cannot run");
    std::optional<pg::Error> failure;
    try {
        return pg::as_role(strategy.creator, [&] {
            return pg::as_restricted([&] { return run_here(strategy.text, name); });
        });
    } catch (const pg::Error &error) {
        failure = error;
    }
    if (ends_statement(*failure))
        throw *failure;  // NOLINT(cert-err60-cpp): as it came
    raise_failed(strategy, name, *failure);
}

void demand_creator(const Strategy &strategy, const core::QueueName &name)
{
    if (pg::call([&] { return ::GetUserNameFromId(strategy.creator, true) != nullptr; }))
        return;
    HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
               errmsg("the role that made instance \"%s\" does not exist", name.instance.c_str()),
               errdetail("Its table_naming_strategy runs with the rights of that role."),
               errhint("Create queue \"%s\" in another instance.", name.queue.c_str()));
}

std::optional<std::string> problem_of(const std::string &table)
{
    for (const std::string_view ending : {"_live", "_final"})
        if (table.ends_with(ending))
            return "ends like a leaf of a queue's table (\"" + std::string(ending) + "\")";
    if (table.find("_final_") != std::string::npos)
        return "looks like a leaf of a queue's table (\"_final_\")";
    return core::table_name_problem(table);
}

// Where the name comes from, appended to the other details; empty if it comes from the queue's
// name.
std::string origin_of(const TableName &table)
{
    return table.strategy == "NONE" ? ""
                                    : " table_naming_strategy of its instance gave it. " +
                                          shown_strategy(table.strategy);
}

std::string hint_for(const TableName &table)
{
    return table.strategy == "NONE" ? "Choose another name, or an instance whose "
                                      "table_naming_strategy gives another table name."
                                    : wanted();
}

[[noreturn]] void raise_unusable(const std::string &queue, const TableName &table,
                                 const std::string &problem)
{
    const std::string text = pg::short_text(table.text, core::most_message);
    const std::string detail = "It " + problem + "." + origin_of(table);
    const std::string hint = hint_for(table);
    HIPQ_RAISE(
        errcode(ERRCODE_INVALID_NAME),
        errmsg("table name \"%s\" of queue \"%s\" cannot be used", text.c_str(), queue.c_str()),
        errdetail("%s", detail.c_str()), errhint("%s", hint.c_str()));
}

[[noreturn]] void raise_taken(const std::string &queue, const TableName &table)
{
    const std::string detail =
        "It would be the table of queue \"" + queue + "\"." + origin_of(table);
    const std::string hint = hint_for(table);
    HIPQ_RAISE(errcode(ERRCODE_DUPLICATE_TABLE),
               errmsg("relation \"hipq.%s\" already exists", table.text.c_str()),
               errdetail("%s", detail.c_str()), errhint("%s", hint.c_str()));
}

}  // namespace

DefaultNamesOnly::DefaultNamesOnly() : before_(std::exchange(are_defaults_demanded, true)) {}

DefaultNamesOnly::~DefaultNamesOnly()
{
    are_defaults_demanded = before_;
}

TableName table_name_of(const core::QueueName &name)
{
    const Strategy strategy = strategy_of(name.instance);
    if (strategy.text == "NONE")
        return {core::default_table_name(name), strategy.text};
    demand_creator(strategy, name);
    const Given given = run(strategy, name);
    if (given.name.has_value())
        return {*given.name, strategy.text};
    const std::string queue = full_name(name);
    const std::string detail = "It gives " +
                               (given.rows == 1 ? "NULL" : std::to_string(given.rows) + " rows") +
                               ". " + shown_strategy(strategy.text);
    const std::string hint = wanted();
    HIPQ_RAISE(
        errcode(ERRCODE_INVALID_NAME),
        errmsg("table_naming_strategy of instance \"%s\" gives no table name for queue \"%s\"",
               name.instance.c_str(), queue.c_str()),
        errdetail("%s", detail.c_str()), errhint("%s", hint.c_str()));
}

void check_table_name(const core::QueueName &name, const TableName &table)
{
    if (const auto problem = problem_of(table.text); problem.has_value())
        raise_unusable(full_name(name), table, *problem);
    if (pg::call([&] {
            return OidIsValid(
                ::get_relname_relid(table.text.c_str(), ::get_namespace_oid("hipq", false)));
        }) &&
        !tables::is_left_table(table.text))
        raise_taken(full_name(name), table);
}

}  // namespace hipq::admin
