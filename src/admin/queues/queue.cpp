// create_queue, alter_queue.
//
// Both hold a lock on the queue's name until their transaction ends. They do not block calls for
// other queues, except that two calls that create queues block each other for a moment
// (lock_partitions).
#include "admin/queues/described_queues.hpp"
#include "admin/queues/grants.hpp"
#include "admin/queues/if_exists.hpp"
#include "admin/queues/later_options.hpp"
#include "admin/queues/many_locks.hpp"
#include "admin/queues/resettable.hpp"
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

// The arguments that create_queue and alter_queue share, by position.
struct QueueArgument {
    enum Position {
        queue_argument,
        owner,
        throttle_limit,
        retention,
        history,
        strict,
        queue_ttl,
        dead_letter_enabled,
        dead_letter_retention,
        durability,
        weight,
        dead_letter_max,
        dead_letter_handler,
        max_timeout,
        highest_priority,
        allow_free_jobs,
        retry_enabled,
        if_not_exists,  // of create_queue, before or_replace
        reset = if_not_exists,
        sharding_to_create = if_not_exists + 2,
        sharding_to_alter = reset + 1,
        later_to_create = sharding_to_create + 4,
        later_to_alter = sharding_to_alter + 4,
    };
};

// Arguments that fall back to a setting if the queue has no value.
constexpr std::array<Resettable, 9> resettable_of_queue{
    {{"retention", QueueArgument::retention},
     {"queue_ttl", QueueArgument::queue_ttl},
     {"dead_letter_enabled", QueueArgument::dead_letter_enabled},
     {"dead_letter_retention", QueueArgument::dead_letter_retention},
     {"dead_letter_max", QueueArgument::dead_letter_max},
     {"max_timeout", QueueArgument::max_timeout},
     {"highest_priority", QueueArgument::highest_priority},
     {"retry_enabled", QueueArgument::retry_enabled},
     {"strict", QueueArgument::strict}}};

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
constinit pg::Statement insert_queue(R"(
    INSERT INTO hipq.queue (instance_id, name, owner, table_name, throttle_limit, retention, history, is_strict, queue_ttl,
                            dead_letter_enabled, dead_letter_retention, durability, weight, dead_letter_max, dead_letter_handler,
                            max_timeout, highest_priority, allow_free_jobs, retry_enabled, queue_id)
    SELECT instance_id, $2, $3::regrole, $4, coalesce($5, 0), $6, coalesce($7, 'failed'), $8, $9, $10, $11,
           coalesce($12, 'strict'), coalesce($13, 100), $14, $15, $16, $17, coalesce($18, true), $19, $20
    FROM hipq.instance
    WHERE name = $1
    FOR KEY SHARE)");
constinit pg::Statement update_queue(R"(
    UPDATE hipq.queue
    SET owner = coalesce($2::regrole, owner),
        throttle_limit = coalesce($3, throttle_limit),
        retention = CASE WHEN 'retention' = ANY ($11) THEN NULL ELSE coalesce($4, retention) END,
        history = coalesce($5, history),
        is_strict = CASE WHEN 'strict' = ANY ($11) THEN NULL ELSE coalesce($6, is_strict) END,
        queue_ttl = CASE WHEN 'queue_ttl' = ANY ($11) THEN NULL ELSE coalesce($7, queue_ttl) END,
        dead_letter_enabled = CASE WHEN 'dead_letter_enabled' = ANY ($11) THEN NULL ELSE coalesce($8, dead_letter_enabled) END,
        dead_letter_retention = CASE WHEN 'dead_letter_retention' = ANY ($11) THEN NULL ELSE coalesce($9, dead_letter_retention) END,
        durability = coalesce($10, durability),
        weight = coalesce($12, weight),
        dead_letter_max = CASE WHEN 'dead_letter_max' = ANY ($11) THEN NULL ELSE coalesce($13, dead_letter_max) END,
        dead_letter_handler = coalesce($14, dead_letter_handler),
        max_timeout = CASE WHEN 'max_timeout' = ANY ($11) THEN NULL ELSE coalesce($15, max_timeout) END,
        highest_priority = CASE WHEN 'highest_priority' = ANY ($11) THEN NULL ELSE coalesce($16, highest_priority) END,
        allow_free_jobs = coalesce($17, allow_free_jobs),
        retry_enabled = CASE WHEN 'retry_enabled' = ANY ($11) THEN NULL ELSE coalesce($18, retry_enabled) END
    WHERE queue_id = $1)");

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
    using enum QueueArgument::Position;
    if (const auto limit = arguments.maybe_double(throttle_limit); limit.has_value())
        pg::demand(core::check_throttle_limit(*limit));
    if (const auto share = arguments.maybe_int(weight); share.has_value())
        pg::demand(core::check_queue_weight(*share));
    if (const auto highest = arguments.maybe_int(highest_priority); highest.has_value())
        pg::demand(core::check_priority(*highest, "highest_priority"));
    catalog::check_retention(arguments.maybe_duration(retention));
    catalog::check_keeping("dead_letter_retention",
                           arguments.maybe_duration(dead_letter_retention));
    if (const auto most = arguments.maybe_int(dead_letter_max); most.has_value())
        pg::demand(core::check_dead_letter_max(*most));
    const std::string kept = arguments.maybe_text(history).value_or("failed");
    if (kept != "failed" && kept != "all")
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("unknown history \"%s\"", kept.c_str()),
                   errhint("History is failed or all."));
    const std::string safe = arguments.maybe_text(durability).value_or("strict");
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
    const auto text = arguments.maybe_text(QueueArgument::dead_letter_handler);
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
    using enum QueueArgument::Position;
    const std::string handler = read_dead_letter_handler(name, role, arguments).value_or("NONE");
    catalog::claim_identity_if_new();
    std::int32_t id = 0;
    bool makes_instance = false;
    pg::as_hipq([&] {
        makes_instance = insert_plain_instance.run(name.instance).processed() > 0;
        id = tables::choose_queue_id(table);
        insert_queue.run(
            name.instance, name.queue, role, table, arguments.maybe_double(throttle_limit),
            pg::interval_of(arguments.maybe_duration(retention)), arguments.maybe_text(history),
            arguments.maybe_bool(strict), arguments.maybe_seconds(queue_ttl),
            arguments.maybe_bool(dead_letter_enabled),
            pg::interval_of(arguments.maybe_duration(dead_letter_retention)),
            arguments.maybe_text(durability), arguments.maybe_int(weight),
            arguments.maybe_int(dead_letter_max), handler, arguments.maybe_seconds(max_timeout),
            arguments.maybe_int(highest_priority), arguments.maybe_bool(allow_free_jobs),
            arguments.maybe_bool(retry_enabled), id);
    });
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
    using enum QueueArgument::Position;
    const std::optional<Oid> new_owner = arguments.maybe_oid(owner);
    check_options(arguments);
    note_places(queue);
    if (arguments.has(queue_ttl))
        for (const auto &[name, type] : queue.job_types())
            if (!type.queue_ttl.has_value() && type.is_without_handler())
                external::warn_of_short_ttl(queue, name, arguments.maybe_seconds(queue_ttl));
    if (new_owner.has_value() && *new_owner != queue.owner) {
        check_new_owner(*new_owner);
        check_owner_of_handlers(queue, *new_owner);
    }
    auto handler = read_dead_letter_handler({queue.instance, queue.name},
                                            new_owner.value_or(queue.owner), arguments);
    pg::as_hipq([&] {
        update_queue.run(
            queue.id, new_owner, arguments.maybe_double(throttle_limit),
            pg::interval_of(arguments.maybe_duration(retention)), arguments.maybe_text(history),
            arguments.maybe_bool(strict), arguments.maybe_seconds(queue_ttl),
            arguments.maybe_bool(dead_letter_enabled),
            pg::interval_of(arguments.maybe_duration(dead_letter_retention)),
            arguments.maybe_text(durability), to_reset, arguments.maybe_int(weight),
            arguments.maybe_int(dead_letter_max), handler, arguments.maybe_seconds(max_timeout),
            arguments.maybe_int(highest_priority), arguments.maybe_bool(allow_free_jobs),
            arguments.maybe_bool(retry_enabled));
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
    const std::string text = arguments.text(QueueArgument::queue_argument, "queue");
    catalog::lock_queue_name(text);
    const auto catalogue = catalog::catalogue();
    const Queue &queue = catalog::require_own_queue(*catalogue, text);
    constexpr int later = QueueArgument::later_to_alter;
    const auto to_reset = read_reset(arguments, QueueArgument::reset,
                                     with_later_options(resettable_of_queue, arguments, later));
    change_sharding(queue, read_sharding(arguments, QueueArgument::sharding_to_alter),
                    IfNoShardKey::stays);
    set_later_options(queue.id, arguments, later, to_reset);
    if (change_queue(queue, arguments, to_reset).has_value())
        recovery::forget_dead_letter_crashes(queue.id);
}

// Keeps the owner if none is named: NULL would mean the caller.
void replace_queue(const std::string &name, const pg::Arguments &arguments)
{
    const auto catalogue = catalog::catalogue();
    const Queue &queue = catalog::require_own_queue(*catalogue, name);
    const Object before = read_queue(queue.id);
    change_sharding(queue, read_sharding(arguments, QueueArgument::sharding_to_create),
                    IfNoShardKey::is_reset);
    constexpr int later = QueueArgument::later_to_create;
    const auto to_reset =
        not_given(arguments, with_later_options(resettable_of_queue, arguments, later));
    set_later_options(queue.id, arguments, later, to_reset);
    const auto handler = change_queue(queue, arguments, to_reset);
    if (handler.has_value() && *handler != queue.dead_letter_handler)
        recovery::forget_dead_letter_crashes(queue.id);
    tell_of_changes(before, read_queue(queue.id));
}

std::int32_t create_queue(const pg::Arguments &arguments, IfExists if_exists)
{
    const std::string text = arguments.text(QueueArgument::queue_argument, "queue");
    const core::QueueName name = parse_name(text);
    const Oid role = arguments.maybe_oid(QueueArgument::owner).value_or(catalog::caller());
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
    const core::UniqueScope scope =
        set_sharding(queue.id, read_sharding(arguments, QueueArgument::sharding_to_create));
    set_later_options(queue.id, arguments, QueueArgument::later_to_create, {});
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
    return hipq::pg::return_int(hipq::admin::create_queue_with_hint(
        arguments,
        hipq::admin::read_if_exists(arguments, hipq::admin::QueueArgument::if_not_exists)));
}

HIPQ_FUNCTION(hipq_alter_queue)
{
    hipq::admin::alter_queue(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_void();
}
