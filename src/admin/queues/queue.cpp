// create_queue, alter_queue.
//
// Both hold a lock on the queue's name until their transaction ends. They do not block calls for
// other queues, except that two calls that create queues block each other for a moment
// (lock_partitions).
#include "admin/queues/described_queues.hpp"
#include "admin/queues/grants.hpp"
#include "admin/queues/if_exists.hpp"
#include "admin/queues/many_locks.hpp"
#include "admin/queues/options.hpp"
#include "admin/queues/rate_arguments.hpp"
#include "admin/queues/sections.hpp"
#include "admin/queues/sharding.hpp"
#include "admin/queues/table_name.hpp"
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/identity.hpp"
#include "catalog/name_lock.hpp"
#include "catalog/read_handler.hpp"
#include "catalog/rights.hpp"
#include "catalog/routine.hpp"
#include "core/text/names.hpp"
#include "external/external.hpp"
#include "job/dead_letter_rows.hpp"
#include "job/made_by_handler.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"
#include "recovery/recovery.hpp"
#include "shared/wakeup/commit.hpp"
#include "tables/left_table.hpp"
#include "tables/make_leaf.hpp"
#include "tables/queue_table.hpp"

namespace hipq::admin {

namespace {

using catalog::Queue;

constexpr std::array<Option, 19> options_of_queue{
    {{"throttle_limit", Option::Kind::number, "0"},
     {"retention", Option::Kind::interval},
     {"history", Option::Kind::text, "'failed'"},
     {"strict", Option::Kind::boolean, nullptr, "is_strict"},
     {"queue_ttl", Option::Kind::seconds},
     {"dead_letter_enabled", Option::Kind::boolean},
     {"dead_letter_retention", Option::Kind::interval},
     {"durability", Option::Kind::text, "'strict'"},
     {"weight", Option::Kind::integer, "100"},
     {"dead_letter_max", Option::Kind::integer},
     {"dead_letter_handler", Option::Kind::computed, "'NONE'"},
     {"max_timeout", Option::Kind::seconds},
     {"highest_priority", Option::Kind::integer},
     {"allow_free_jobs", Option::Kind::boolean, "true"},
     {"retry_enabled", Option::Kind::boolean},
     {"worker_wait_ttl", Option::Kind::seconds_or_zero},
     {"max_retries", Option::Kind::integer},
     {"rate_limit", Option::Kind::computed, "'NONE'"},
     {"rate_mode", Option::Kind::text, "'exact'"}}};

constinit pg::Statement
    insert_plain_instance("INSERT INTO hipq.instance (name) VALUES ($1) ON CONFLICT DO NOTHING");
// A queue of that name; or (NULL) a queue whose table has that name, because "hipq.app_mail" also
// names queue "app.mail".
constinit pg::Statement select_namesakes(R"(
    SELECT queue.queue_id
    FROM hipq.queue AS queue
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1 AND queue.name = $2 AND NOT queue.is_dropped
    UNION ALL
    SELECT NULL
    FROM hipq.queue AS queue
    WHERE $1 = 'hipq' AND queue.table_name = $2 AND NOT queue.is_dropped)");
constinit pg::Statement select_dropped_queue(R"(
    SELECT queue.queue_id, queue.table_name
    FROM hipq.queue AS queue
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1 AND queue.name = $2 AND queue.is_dropped)");
constexpr std::string_view built_in_instance = "hipq";

// Raises a NOTICE, because the name may be misspelt.
void tell_of_new_instance(const std::string &name)
{
    pg::call([&] {
        ereport(NOTICE, errmsg("instance \"%s\" is new: create_queue() made it", name.c_str()),
                errhint("If the name is misspelt, drop the queue, and then the instance with "
                        "hipq.drop_instance('%s').",
                        name.c_str()));
    });
}

// Checks the arguments of both functions; NULL passes.
void check_options(const pg::Arguments &arguments)
{
    if (const auto limit = arguments.maybe_double("throttle_limit"); limit.has_value())
        pg::demand(core::check_throttle_limit(*limit));
    if (const auto share = arguments.maybe_int("weight"); share.has_value())
        pg::demand(core::check_queue_weight(*share));
    if (const auto highest = arguments.maybe_int("highest_priority"); highest.has_value())
        pg::demand(core::check_priority(*highest, "highest_priority"));
    catalog::check_retention(arguments.maybe_duration("retention"));
    catalog::check_keeping("dead_letter_retention",
                           arguments.maybe_duration("dead_letter_retention"));
    if (const auto most = arguments.maybe_int("dead_letter_max"); most.has_value())
        pg::demand(core::check_dead_letter_max(*most));
    if (const auto retries = arguments.maybe_int(pg::Argument::later("max_retries"));
        retries.has_value())
        pg::demand(core::check_max_retries(*retries));
    const std::string kept = arguments.maybe_text("history").value_or("failed");
    if (kept != "failed" && kept != "all")
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("unknown history \"%s\"", kept.c_str()),
                   errhint("History is failed or all."));
    const std::string safe = arguments.maybe_text("durability").value_or("strict");
    if (safe != "strict" && safe != "group")
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("unknown durability \"%s\"", safe.c_str()),
                   errhint("Durability is strict or group."));
}

bool can_log_in(Oid role)
{
    return pg::call([&] {
        HeapTuple tuple = ::SearchSysCache1(AUTHOID, ObjectIdGetDatum(role));
        if (!HeapTupleIsValid(tuple))
            return false;
        const bool can = reinterpret_cast<Form_pg_authid>(GETSTRUCT(tuple))->rolcanlogin;
        ::ReleaseSysCache(tuple);
        return can;
    });
}

// A role that makes another role the owner of a queue makes handlers run as that role.
void check_new_owner(Oid role)
{
    const std::string name = catalog::require_role(role);
    if (!pg::call([&] { return ::is_member_of_role(catalog::caller(), role); }))
        HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                   errmsg("must be member of role \"%s\"", name.c_str()),
                   errdetail("Handlers of a queue run as its owner."));
    if (can_log_in(role))
        return;
    const std::string quoted = pg::quote_name(name);
    pg::call([&] {
        ereport(WARNING, errmsg("queue owner \"%s\" is not permitted to log in", name.c_str()),
                errdetail("Jobs can be enqueued, but SQL handlers cannot run."),
                errhint("Run ALTER ROLE %s LOGIN.", quoted.c_str()));
    });
}

core::QueueName parse_name(const std::string &text)
{
    const std::optional<core::QueueName> name = core::parse_queue_name(text);
    if (!name.has_value())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_NAME), errmsg("invalid queue name \"%s\"", text.c_str()),
                   errhint("A queue is named \"instance.queue\"; both parts have 1 to 63 "
                           "lower-case letters, digits and underscores, first a letter."));
    return *name;
}

// The properties of a queue that are known before the catalogue is read again.
Queue describe(const core::QueueName &name, Oid role)
{
    Queue queue{};
    queue.instance = name.instance;
    queue.name = name.queue;
    queue.owner = role;
    return queue;
}

// Returns the handler of dead letters as it is stored, for a queue of that name and owner; nothing
// if none was given.
std::optional<std::string> read_dead_letter_handler(const core::QueueName &name, Oid role,
                                                    const pg::Arguments &arguments)
{
    const auto text = arguments.maybe_text("dead_letter_handler");
    if (!text.has_value())
        return std::nullopt;
    return catalog::read_dead_letter_handler(describe(name, role), *text);
}

// Finishes the drop of a queue of the same name.
void finish_drop(const core::QueueName &name)
{
    pg::as_hipq([&] {
        for (const pg::Row row : select_dropped_queue.run(name.instance, name.queue))
            tables::forget_queue(row.integer32(0), row.text(1));
    });
}

// Returns the number of the queue of that name, or nothing if there is none. Reads only the two
// rows that can conflict: reading the whole catalogue would cost as much as all queues together.
std::optional<std::int32_t> find_present(const core::QueueName &name, const std::string &text,
                                         IfExists if_exists)
{
    const pg::Rows rows = pg::as_extension_owner(
        [&] { return select_namesakes.run_latest(name.instance, name.queue); });
    if (rows.empty())
        return std::nullopt;
    if (if_exists == IfExists::fails || rows.front().null(0))
        HIPQ_RAISE(errcode(ERRCODE_DUPLICATE_OBJECT),
                   errmsg("queue \"%s\" already exists", text.c_str()),
                   errhint("Change it with hipq.alter_queue(), or use or_replace => true."));
    return rows.front().integer32(0);
}

// Inserts the row of a new queue, and of its instance if that is new too. Returns the queue's
// number.
std::int32_t insert_rows(const core::QueueName &name, Oid role, const std::string &table,
                         const pg::Arguments &arguments)
{
    const auto handler = read_dead_letter_handler(name, role, arguments);
    OptionValues values(arguments, options_of_queue);
    values.set("dead_letter_handler", handler);
    const auto rate = read_rate(arguments);
    values.set("rate_limit", rate);
    catalog::claim_identity_if_new();
    std::int32_t id = 0;
    bool makes_instance = false;
    pg::as_hipq([&] {
        makes_instance = insert_plain_instance.run(name.instance).processed() > 0;
        id = tables::choose_queue_id(table);
        pg::execute_once(
            "INSERT INTO hipq.queue (instance_id, name, owner, table_name, queue_id, " +
                values.columns() + ") SELECT instance_id, $2, $3::regrole, $4, $5, " +
                values.of_new(6) + " FROM hipq.instance WHERE name = $1 FOR KEY SHARE",
            values.after({name.instance, name.queue, role, table, id}));
    });
    demand_one_server(rate, id);
    if (makes_instance && name.instance != built_in_instance)
        tell_of_new_instance(name.instance);
    return id;
}

void make_tables(int id, const std::string &table, core::UniqueScope scope)
{
    pg::as_hipq([&] {
        tables::make_attempt_leaves_once();
        tables::create_or_adopt_queue_table(id, table, scope);
    });
}

bool has_sql_handlers(const Queue &queue)
{
    return queue.handles_dead_letters() ||
           std::ranges::any_of(queue.job_types(), [](const auto &entry) {
               return entry.second.handler != "NONE" || entry.second.retry_handler != "NONE";
           });
}

void check_owner_of_handlers(const Queue &queue, Oid role)
{
    if (!has_sql_handlers(queue) || catalog::may_run_handlers(role))
        return;
    const std::string name = queue.full_name();
    HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
               errmsg("cannot give queue \"%s\" to a superuser", name.c_str()),
               errdetail("Its handlers would run with the rights of a superuser."),
               errhint("Choose another owner, or switch hipq.allow_superuser_handlers on."));
}

// Stores the arguments; a value that is NULL stays, or goes back to the setting if `to_reset` names
// it. Returns the handler of dead letters if one was given.
std::optional<std::string> change_queue(const Queue &queue, const pg::Arguments &arguments,
                                        const std::vector<std::string> &to_reset)
{
    const std::optional<Oid> new_owner = arguments.maybe_oid("owner");
    check_options(arguments);
    note_places(queue);
    if (arguments.has("queue_ttl"))
        for (const auto &[name, type] : queue.job_types())
            if (!type.queue_ttl.has_value() && type.is_without_handler())
                external::warn_of_short_ttl(queue, name, arguments.maybe_seconds("queue_ttl"));
    if (new_owner.has_value() && *new_owner != queue.owner) {
        check_new_owner(*new_owner);
        check_owner_of_handlers(queue, *new_owner);
    }
    auto handler = read_dead_letter_handler({queue.instance, queue.name},
                                            new_owner.value_or(queue.owner), arguments);
    OptionValues values(arguments, options_of_queue);
    values.set("dead_letter_handler", handler);
    const auto rate = read_rate(arguments);
    values.set("rate_limit", rate);
    demand_one_server(rate, queue.id);
    pg::as_hipq([&] {
        pg::execute_once("UPDATE hipq.queue SET owner = coalesce($3::regrole, owner), " +
                             values.changes(4, 2) + " WHERE queue_id = $1",
                         values.after({queue.id, to_reset, new_owner}));
    });
    if (new_owner.has_value() && *new_owner != queue.owner) {
        take_ownership(queue, queue.owner);
        give_ownership(queue, *new_owner);
    }
    wakeup::note_catalogue_change();
    tell_of_new_places(queue);
    // A handler of dead letters that sets a handler must not start a loop.
    if (handler.has_value() && *handler != core::none_text && !job::is_handling_letter())
        job::await_handler(queue);
    return handler;
}

void alter_queue(const pg::Arguments &arguments)
{
    const std::string text = arguments.text("queue");
    catalog::lock_queue_name(text);
    const auto catalogue = catalog::catalogue();
    const Queue &queue = catalog::require_own_queue(*catalogue, text);
    const auto to_reset = read_reset(arguments, options_of_queue);
    change_sharding(queue, read_sharding(arguments), IfNoShardKey::stays);
    if (change_queue(queue, arguments, to_reset).has_value())
        recovery::forget_dead_letter_crashes(queue.id);
}

// Keeps the owner if none is named: NULL would mean the caller.
void replace_queue(const std::string &name, const pg::Arguments &arguments)
{
    const auto catalogue = catalog::catalogue();
    const Queue &queue = catalog::require_own_queue(*catalogue, name);
    const Object before = read_queue(queue.id);
    change_sharding(queue, read_sharding(arguments), IfNoShardKey::is_reset);
    const auto to_reset = not_given(arguments, options_of_queue);
    const auto handler = change_queue(queue, arguments, to_reset);
    if (handler.has_value() && *handler != queue.dead_letter_handler)
        recovery::forget_dead_letter_crashes(queue.id);
    tell_of_changes(before, read_queue(queue.id));
}

std::int32_t create_queue(const pg::Arguments &arguments, IfExists if_exists)
{
    const std::string text = arguments.text("queue");
    const core::QueueName name = parse_name(text);
    const Oid role = arguments.maybe_oid("owner").value_or(catalog::caller());
    check_options(arguments);
    catalog::lock_queue_name(text);
    if (const auto present = find_present(name, text, if_exists); present.has_value()) {
        if (if_exists == IfExists::is_replaced)
            replace_queue(text, arguments);
        else
            tell_of_existing(object_name(Section::queues, {text}));
        return *present;
    }
    check_new_owner(role);
    finish_drop(name);
    const TableName table = table_name_of(name);
    catalog::lock_table_name(table.text);
    check_table_name(name, table);
    catalog::lock_partitions();
    Queue queue = describe(name, role);
    queue.id = insert_rows(name, role, table.text, arguments);
    queue.table = table.text;
    const core::UniqueScope scope = set_sharding(queue.id, read_sharding(arguments));
    make_tables(queue.id, queue.table, scope);
    give_ownership(queue, role);
    wakeup::note_catalogue_change();
    tell_if_new(if_exists, object_name(Section::queues, {text}));
    return queue.id;
}

std::int32_t create_queue_with_hint(const pg::Arguments &arguments, IfExists if_exists)
{
    std::int32_t id = 0;
    with_hint_on_locks("makes queues", [&] { id = create_queue(arguments, if_exists); });
    return id;
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_create_or_replace_queue)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return hipq::pg::return_int(
        hipq::admin::create_queue_with_hint(arguments, hipq::admin::read_if_exists(arguments)));
}

HIPQ_FUNCTION(hipq_alter_queue)
{
    hipq::admin::alter_queue(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_void();
}
