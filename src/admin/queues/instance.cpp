// create_instance, alter_instance, drop_instance. By default no role has EXECUTE on them; they
// check nothing else about the caller.
#include "admin/queues/described_queues.hpp"
#include "admin/queues/if_exists.hpp"
#include "admin/queues/options.hpp"
#include "admin/queues/sections.hpp"
#include "admin/queues/sharding.hpp"
#include "catalog/identity.hpp"
#include "core/job/validate.hpp"
#include "core/text/conninfo.hpp"
#include "core/text/names.hpp"
#include "pg/arguments.hpp"
#include "pg/demand.hpp"
#include "pg/internal_write.hpp"
#include "shared/wakeup/commit.hpp"
#include "tables/queue_table.hpp"

extern "C" {
#include "parser/parser.h"
}

namespace hipq::admin {

namespace {

constinit pg::Statement insert_instance(R"(
    INSERT INTO hipq.instance (name, shard_key, table_naming_strategy, db_config, created_by, is_strict)
    VALUES ($1, $2, $3, coalesce($4, '{}'), $5::regrole, $6)
    ON CONFLICT DO NOTHING
    RETURNING instance_id)");
constinit pg::Statement select_id("SELECT instance_id FROM hipq.instance WHERE name = $1");
constinit pg::Statement
    lock_to_change("SELECT FROM hipq.instance WHERE instance.name = $1 FOR NO KEY UPDATE");
constinit pg::Statement
    lock_instance("SELECT FROM hipq.instance WHERE instance.name = $1 FOR UPDATE");
constinit pg::Statement select_queues_of_instance(R"(
    SELECT queue_id, table_name, is_dropped
    FROM hipq.queue
    JOIN hipq.instance USING (instance_id)
    WHERE instance.name = $1)");
constinit pg::Statement
    delete_pause("DELETE FROM hipq.pause USING hipq.instance WHERE instance.instance_id = "
                 "pause.instance_id AND instance.name = $1");
// A new strategy runs with the rights of the role that set it.
constinit pg::Statement update_instance(R"(
    UPDATE hipq.instance
    SET is_strict = coalesce($2, is_strict),
        shard_key = coalesce($3, shard_key),
        created_by = CASE WHEN $4 <> table_naming_strategy THEN $6::regrole ELSE created_by END,
        table_naming_strategy = coalesce($4, table_naming_strategy),
        db_config = coalesce($5, db_config)
    WHERE name = $1)");
// Tables of 0.2.0 do not have the column, and functions of 0.2.0 do not set it.
constinit pg::Statement update_max_retries(R"(
    UPDATE hipq.instance
    SET max_retries = CASE WHEN 'max_retries' = ANY ($3) THEN NULL ELSE coalesce($2, max_retries) END
    WHERE name = $1)");
constinit pg::Statement may_alter(R"(
    SELECT bool_or(has_function_privilege($1, oid, 'EXECUTE'))
    FROM pg_proc
    WHERE pronamespace = 'hipq'::regnamespace AND proname = 'alter_instance')");
constinit pg::Statement delete_instance("DELETE FROM hipq.instance WHERE name = $1");

// Returns the parse error if the text is not an expression that can follow SELECT. An expression
// cannot end the query and start another.
std::optional<pg::Error> error_of_expression(const std::string &text)
{
    try {
        pg::call([&] { (void)::raw_parser(text.c_str(), RAW_PARSE_PLPGSQL_EXPR); });
    } catch (const pg::Error &error) {
        return error;
    }
    return std::nullopt;
}

void check_naming_strategy(const std::string &strategy)
{
    if (strategy.empty())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("table_naming_strategy must not be empty"),
                   errhint("Give an SQL expression over $1 (instance) and $2 (queue), or NONE."));
    const auto error = strategy == "NONE" ? std::nullopt : error_of_expression(strategy);
    if (error.has_value())
        HIPQ_RAISE(errcode(error->sqlerrcode()),
                   errmsg("table_naming_strategy cannot be parsed: %s", error->message().c_str()),
                   errhint("Give an SQL expression over $1 (instance) and $2 (queue), or NONE."));
}

void check_db_config(const pg::RawValue &config)
{
    if (!config.null)
        pg::check_description("db_config", config.value);
    if (!config.null && !pg::call([&] { return JB_ROOT_IS_OBJECT(DatumGetJsonbP(config.value)); }))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("db_config must be a JSON object"));
    const std::string publisher = config.null ? "" : pg::as_extension_owner([&] {
        return pg::run_once("SELECT $1 ->> 'publisher'", config).front().text(0);
    });
    if (core::has_password(publisher))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("publisher in db_config has a password"),
                   errhint("Use a passfile or a certificate."));
}

// The options of an instance; nothing: as it is, or the default.
struct Options {
    std::optional<std::string> shard_key;
    std::optional<std::string> strategy;
    pg::RawValue config{JSONBOID, Datum{0}, true};
    std::optional<bool> is_strict;
    std::optional<std::int32_t> max_retries;
    std::vector<std::string> to_reset{};  // goes back to the setting
};

// Functions of 0.2.0 do not have it.
constexpr std::array<Option, 1> later_options{{{"max_retries", Option::Kind::integer}}};

void check(const Options &options)
{
    if (options.shard_key.has_value())
        check_shard_key(*options.shard_key);
    if (options.strategy.has_value())
        check_naming_strategy(*options.strategy);
    check_db_config(options.config);
    if (options.max_retries.has_value())
        pg::demand(core::check_max_retries(*options.max_retries));
}

[[noreturn]] void refuse_unknown_instance(const std::string &name)
{
    HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
               errmsg("instance \"%s\" does not exist", name.c_str()));
}

void set_max_retries(const std::string &name, const Options &options)
{
    if (options.max_retries.has_value() || !options.to_reset.empty())
        pg::as_hipq([&] { update_max_retries.run(name, options.max_retries, options.to_reset); });
}

void change_instance(const std::string &name, const Options &options)
{
    const Oid caller = ::GetUserId();
    const auto changed = pg::as_hipq([&] {
        return update_instance
            .run(name, options.is_strict, options.shard_key, options.strategy, options.config,
                 caller)
            .processed();
    });
    if (changed == 0)
        refuse_unknown_instance(name);
    set_max_retries(name, options);
    wakeup::note_catalogue_change();
}

void alter_instance(const pg::Arguments &arguments)
{
    const std::string name = arguments.text("name");
    Options options{arguments.maybe_text("shard_key", core::most_shard_key),
                    arguments.maybe_text("table_naming_strategy"),
                    arguments.raw("db_config", JSONBOID), arguments.maybe_bool("strict"),
                    arguments.maybe_int(pg::Argument::later("max_retries"))};
    if (arguments.takes("reset"))
        options.to_reset = read_reset(arguments, later_options);
    check(options);
    change_instance(name, options);
}

std::int32_t id_of(const std::string &name)
{
    return pg::as_hipq([&] { return select_id.run_latest(name).front().integer32(0); });
}

// Returns nothing if an instance of that name exists.
std::optional<std::int32_t> insert(const std::string &name, const Options &options)
{
    const Oid creator = ::GetUserId();
    return pg::as_hipq([&]() -> std::optional<std::int32_t> {
        const pg::Rows rows = insert_instance.run(name, *options.shard_key, *options.strategy,
                                                  options.config, creator, *options.is_strict);
        return rows.empty() ? std::nullopt : std::optional(rows.front().integer32(0));
    });
}

// Replacing an instance needs the right to alter it.
void require_right_to_alter(const std::string &name)
{
    const Oid caller = ::GetUserId();
    if (pg::as_hipq([&] { return may_alter.run(caller).front().boolean(0); }))
        return;
    HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
               errmsg("permission denied to change instance \"%s\"", name.c_str()),
               errdetail("EXECUTE on function hipq.alter_instance is needed."),
               errhint("With if_not_exists => true the instance stays as it is."));
}

std::int32_t replace_instance(const std::string &name, const Options &options)
{
    require_right_to_alter(name);
    pg::as_hipq([&] { lock_to_change.run(name); });
    const Object before = read_instance(name);
    change_instance(name, options);
    tell_of_changes(before, read_instance(name));
    return id_of(name);
}

std::int32_t create_instance(const pg::Arguments &arguments, IfExists if_exists)
{
    const std::string name = arguments.text("name");
    const Options options{arguments.maybe_text("shard_key", core::most_shard_key).value_or("NONE"),
                          arguments.maybe_text("table_naming_strategy").value_or("NONE"),
                          arguments.raw("db_config", JSONBOID),
                          arguments.maybe_bool("strict").value_or(false),
                          arguments.maybe_int(pg::Argument::later("max_retries")),
                          not_given(arguments, later_options)};
    if (!core::is_valid_name(name))
        HIPQ_RAISE(
            errcode(ERRCODE_INVALID_NAME), errmsg("invalid instance name \"%s\"", name.c_str()),
            errhint(
                "Names have 1 to 63 lower-case letters, digits and underscores, first a letter."));
    check(options);
    const std::string object = object_name(Section::instances, {name});
    if (const auto id = insert(name, options); id.has_value()) {
        if (options.max_retries.has_value())
            set_max_retries(name, options);
        catalog::claim_identity_if_new();
        tell_if_new(if_exists, object);
        return *id;
    }
    if (if_exists == IfExists::is_replaced)
        return replace_instance(name, options);
    if (if_exists == IfExists::stays) {
        tell_of_existing(object);
        return id_of(name);
    }
    HIPQ_RAISE(errcode(ERRCODE_DUPLICATE_OBJECT),
               errmsg("instance \"%s\" already exists", name.c_str()),
               errhint("Change it with hipq.alter_instance(), or use or_replace => true."));
}

// Queues whose drop is under way do not count: their drop is finished here.
void drop_instance(const std::string &name)
{
    std::int64_t queues = 0;
    std::uint64_t dropped = 0;
    pg::as_hipq([&] {
        lock_instance.run(name);  // create_queue() locks it too
        const pg::Rows rows = select_queues_of_instance.run_latest(name);
        for (const pg::Row row : rows)
            queues += row.boolean(2) ? 0 : 1;
        if (queues > 0)
            return;
        for (const pg::Row row : rows)
            tables::forget_queue(row.integer32(0), row.text(1));
        delete_pause.run(name);
        dropped = delete_instance.run(name).processed();
    });
    if (queues > 0)
        HIPQ_RAISE(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                   errmsg("cannot drop instance \"%s\" because it has queues", name.c_str()),
                   errhint("Drop its queues with hipq.drop_queue() first."));
    if (dropped == 0)
        refuse_unknown_instance(name);
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_create_or_replace_instance)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return hipq::pg::return_int(
        hipq::admin::create_instance(arguments, hipq::admin::read_if_exists(arguments)));
}

HIPQ_FUNCTION(hipq_alter_whole_instance)
{
    hipq::admin::alter_instance(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_drop_instance)
{
    hipq::admin::drop_instance(hipq::pg::Arguments(fcinfo).text("name"));
    return hipq::pg::return_void();
}
