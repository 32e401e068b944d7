// Reads the existing objects as described objects.
#include "admin/queues/described_queues.hpp"

#include "catalog/cache.hpp"
#include "catalog/rights.hpp"
#include "pg/transaction.hpp"

namespace hipq::admin {

namespace {

// Turns a SELECT of keys and whole states into one of keys, whole states and described states,
// which leave out NULLs and defaults. (Only job_data may be a JSON null.)
#define HIPQ_OBJECTS(select, defaults)                                                             \
    "SELECT k1, k2, k3, k4, whole::text, ("                                                        \
    "    SELECT coalesce(jsonb_object_agg(key, value), '{}')"                                      \
    "    FROM jsonb_each(whole)"                                                                   \
    "    WHERE (value <> 'null' OR key = 'job_data')"                                              \
    "      AND value IS DISTINCT FROM '" defaults "'::jsonb -> key)::text "                        \
    "FROM (" select ") AS object (k1, k2, k3, k4, whole) ORDER BY k1, k2, k3, k4"

// $1: the instances of these queues; $2: all instances; $3: the instance of that name.
constinit pg::Statement
    select_instances(HIPQ_OBJECTS(R"(
        SELECT instance.name, NULL, NULL, NULL,
               jsonb_build_object(
                   'name', instance.name, 'shard_key', instance.shard_key, 'table_naming_strategy', instance.table_naming_strategy,
                   'db_config', instance.db_config, 'strict', instance.is_strict,
                   'max_retries', to_jsonb(instance) -> 'max_retries')
        FROM hipq.instance
        WHERE $2 OR instance.name = $3
           OR EXISTS (SELECT FROM hipq.queue WHERE queue.instance_id = instance.instance_id AND queue.queue_id = ANY ($1)))",
                                  R"({"shard_key": "NONE", "table_naming_strategy": "NONE",
            "db_config": {}, "strict": false})"));

// In an instance with shards throttle_mode is always described, even if it is the default: releases
// before 0.3.0 had another default.
constinit pg::Statement select_queues(HIPQ_OBJECTS(
    R"(
        SELECT instance.name || '.' || queue.name, NULL, NULL, NULL,
               jsonb_build_object(
                   'queue', instance.name || '.' || queue.name, 'owner', pg_get_userbyid(queue.owner), 'throttle_limit', queue.throttle_limit::double precision,
                   'retention', queue.retention::text, 'history', queue.history, 'strict', queue.is_strict, 'queue_ttl', queue.queue_ttl,
                   'worker_wait_ttl', to_jsonb(queue) -> 'worker_wait_ttl', 'max_retries', to_jsonb(queue) -> 'max_retries',
                   'rate_limit', to_jsonb(queue) -> 'rate_limit', 'rate_mode', to_jsonb(queue) -> 'rate_mode',
                   'dead_letter_enabled', queue.dead_letter_enabled, 'dead_letter_retention', queue.dead_letter_retention::text,
                   'durability', queue.durability, 'weight', queue.weight, 'dead_letter_max', queue.dead_letter_max,
                   'dead_letter_handler', queue.dead_letter_handler, 'max_timeout', queue.max_timeout, 'highest_priority', queue.highest_priority,
                   'allow_free_jobs', queue.allow_free_jobs, 'retry_enabled', queue.retry_enabled,
                   'shard_key', nullif(queue.shard_key, instance.shard_key), 'throttle_mode',
                   CASE WHEN queue.throttle_mode <> 'shared' OR EXISTS (SELECT FROM hipq.shard_map AS map WHERE map.instance_id = instance.instance_id)
                        THEN queue.throttle_mode
                   END,
                   'move_order', queue.move_order, 'unique_scope', queue.unique_scope)
        FROM hipq.queue
        JOIN hipq.instance USING (instance_id)
        WHERE queue.queue_id = ANY ($1) AND NOT queue.is_dropped)",
    R"({"throttle_limit": 0, "rate_limit": "NONE", "rate_mode": "exact", "history": "failed", "durability": "strict",
            "weight": 100, "dead_letter_handler": "NONE", "allow_free_jobs": true,
            "move_order": "key", "unique_scope": "global"})"));

// $2: the job type; NULL: all registered ones.
constinit pg::Statement select_job_types(
    HIPQ_OBJECTS(R"(
        SELECT instance.name || '.' || queue.name, job_type.name, NULL, NULL,
               jsonb_build_object(
                   'queue', instance.name || '.' || queue.name, 'job_type', job_type.name, 'handler', job_type.handler,
                   'handler_kind', CASE WHEN job_type.handler_kind IN ('notify', 'statement') THEN job_type.handler_kind ELSE 'auto' END,
                   'retry_handler', job_type.retry_handler, 'default_timeout', job_type.default_timeout,
                   'default_priority', job_type.default_priority, 'default_throttle_factor', job_type.default_throttle_factor::double precision,
                   'default_time_windows', job_type.default_time_windows::text, 'time_zone', job_type.time_zone, 'max_retries', job_type.max_retries,
                   'retry_base', job_type.retry_base::text, 'retry_multiplier', job_type.retry_multiplier, 'retry_max', job_type.retry_max::text,
                   'retry_jitter', job_type.retry_jitter, 'retry_on', job_type.retry_on, 'do_not_retry_on', job_type.do_not_retry_on,
                   'on_missing_handler', job_type.on_missing_handler, 'queue_ttl', job_type.queue_ttl, 'claim', job_type.claim,
                   'batch_size', job_type.batch_size, 'throttle_limit', job_type.throttle_limit::double precision,
                   'throttle_limit_per_key', job_type.throttle_limit_per_key::double precision, 'requires', job_type.requires,
                   'worker_wait_ttl', job_type.worker_wait_ttl, 'retry_enabled', job_type.retry_enabled, 'parameters', job_type.parameters,
                   'validate', job_type.validate, 'attempt_log', job_type.attempt_log,
                   'rate_limit', to_jsonb(job_type) -> 'rate_limit', 'rate_mode', to_jsonb(job_type) -> 'rate_mode',
                   'breaker', to_jsonb(job_type) -> 'breaker', 'rate_limit_per_key', to_jsonb(job_type) -> 'rate_limit_per_key')
        FROM hipq.job_type
        JOIN hipq.queue USING (queue_id)
        JOIN hipq.instance USING (instance_id)
        WHERE queue_id = ANY ($1) AND job_type.is_registered AND ($2 IS NULL OR job_type.name = $2))",
                 R"({"handler": "NONE", "handler_kind": "auto", "retry_handler": "NONE",
            "default_priority": 0, "default_throttle_factor": 1, "default_time_windows": "NONE", "retry_on": [], "do_not_retry_on": [],
            "on_missing_handler": "wait", "claim": "auto", "batch_size": 1, "throttle_limit": 0, "throttle_limit_per_key": 0,
            "requires": {}, "parameters": {}, "validate": "enqueue", "rate_limit": "NONE", "rate_mode": "exact",
            "breaker": "NONE", "rate_limit_per_key": "NONE"})"));

// Recognizes each privilege by the first right that grant_queue() grants for it.
constinit pg::Statement select_grants(HIPQ_OBJECTS(R"(
        SELECT instance.name || '.' || queue.name, pg_get_userbyid(given.role)::text, given.privilege, NULL,
               jsonb_build_object('queue', instance.name || '.' || queue.name, 'role', pg_get_userbyid(given.role), 'privilege', given.privilege)
        FROM hipq.queue
        JOIN hipq.instance USING (instance_id)
        JOIN pg_class AS queue_table ON queue_table.relnamespace = 'hipq'::regnamespace AND queue_table.relname = queue.table_name
        CROSS JOIN LATERAL (
            SELECT acl.grantee, CASE acl.privilege_type WHEN 'INSERT' THEN 'enqueue' ELSE 'read' END
            FROM aclexplode(queue_table.relacl) AS acl
            WHERE acl.privilege_type IN ('INSERT', 'SELECT')
            UNION
            SELECT acl.grantee, 'work'
            FROM pg_attribute AS place
            CROSS JOIN aclexplode(place.attacl) AS acl
            WHERE place.attrelid = queue_table.oid AND place.attname = 'job_data' AND acl.privilege_type = 'UPDATE'
            UNION
            SELECT acl.grantee, CASE WHEN bool_or(place.attname = 'priority') THEN 'control' ELSE 'operate' END
            FROM pg_inherits
            JOIN pg_class AS live ON live.oid = inhrelid AND live.relkind = 'r'
            JOIN pg_attribute AS place ON place.attrelid = live.oid AND place.attname IN ('priority', 'scheduled_run_time')
            CROSS JOIN aclexplode(place.attacl) AS acl
            WHERE inhparent = queue_table.oid AND acl.privilege_type = 'UPDATE'
            GROUP BY acl.grantee
        ) AS given (role, privilege)
        WHERE queue.queue_id = ANY ($1) AND NOT queue.is_dropped
          AND given.role NOT IN (0, queue.owner, queue_table.relowner))",
                                                   "{}"));

constinit pg::Statement select_schedules(HIPQ_OBJECTS(R"(
        SELECT instance.name || '.' || queue.name, schedule.name, NULL, NULL,
               jsonb_build_object(
                   'name', schedule.name, 'cron', schedule.cron, 'role', pg_get_userbyid(schedule.role), 'job_type', schedule.job_type, 'job_data', schedule.job_data,
                   'queue', instance.name || '.' || queue.name, 'job_key', nullif(schedule.job_key, schedule.name), 'priority', schedule.priority,
                   'timeout', schedule.timeout, 'throttle_factor', schedule.throttle_factor::double precision, 'time_windows', schedule.time_windows,
                   'max_retries', schedule.max_retries, 'expires_after', schedule.expires_after::text, 'throttle_key', schedule.throttle_key,
                   'time_zone', nullif(schedule.time_zone, 'UTC'), 'missed', nullif(schedule.missed, 'once'),
                   'missed_within', nullif(schedule.missed_within, interval '1 day')::text, 'jitter', nullif(schedule.jitter, interval '0')::text,
                   'overlap', CASE WHEN schedule.job_key <> 'NONE' THEN nullif(schedule.overlap, 'skip') END,
                   'starts', schedule.starts::text, 'ends', schedule.ends::text, 'by', nullif(schedule.told_by, 'hipq'))
        FROM hipq.schedule
        JOIN hipq.queue USING (queue_id)
        JOIN hipq.instance USING (instance_id)
        WHERE queue.queue_id = ANY ($1) AND NOT queue.is_dropped)",
                                                      R"({"job_data": {}})"));

// $2: all instances.
constinit pg::Statement select_pauses(HIPQ_OBJECTS(R"(
        SELECT concerned.instance, concerned.queue, pause.job_type, pause.throttle_key,
               jsonb_build_object(
                   'instance', concerned.instance, 'queue', concerned.queue, 'job_type', pause.job_type, 'throttle_key', pause.throttle_key,
                   'reason', pause.reason,
                   'until', to_jsonb((to_jsonb(pause) ->> 'paused_until')::timestamptz AT TIME ZONE 'UTC') #>> '{}' || 'Z')
        FROM hipq.pause
        LEFT JOIN hipq.queue ON queue.queue_id = pause.queue_id
        JOIN hipq.instance ON instance.instance_id = coalesce(pause.instance_id, queue.instance_id)
        CROSS JOIN LATERAL (
            SELECT CASE WHEN pause.instance_id IS NOT NULL THEN instance.name END, instance.name || '.' || queue.name
        ) AS concerned (instance, queue)
        WHERE pause.crashes IS NULL
          AND (queue.queue_id = ANY ($1) AND NOT queue.is_dropped
               OR pause.instance_id IS NOT NULL
                  AND ($2 OR instance.instance_id IN (SELECT own.instance_id FROM hipq.queue AS own WHERE own.queue_id = ANY ($1))))
          AND (pause.job_type IS NULL
               OR EXISTS (
                   SELECT FROM hipq.job_type
                   WHERE job_type.queue_id = pause.queue_id AND job_type.name = pause.job_type AND job_type.is_registered
               )))",
                                                   R"({"reason": "NONE"})"));

constinit pg::Statement select_differences(R"(
    SELECT key, before.value, after.value, before.value #>> '{}', after.value #>> '{}'
    FROM jsonb_each($1::jsonb) AS before
    FULL JOIN jsonb_each($2::jsonb) AS after USING (key)
    WHERE before.value IS DISTINCT FROM after.value
    ORDER BY key)");

// Intervals are written in the session's style.
void pin_interval_style()
{
    pg::call([] {
        (void)::set_config_option("IntervalStyle", "postgres", PGC_USERSET, PGC_S_SESSION,
                                  GUC_ACTION_SAVE, true, 0, false);
    });
}

Object object_of(Section section, const pg::Row &row)
{
    Object object{section, {}, row.text(4), row.text(5)};
    for (std::size_t i = 0; i < most_keys; ++i)
        object.keys[i] = row.maybe_text(static_cast<int>(i));
    return object;
}

template <class... Arguments>
std::vector<Object> read(Section section, pg::Statement &statement, const Arguments &...arguments)
{
    std::vector<Object> objects;
    pg::as_extension_owner([&] {
        pin_interval_style();
        for (const pg::Row row : statement.run_latest(arguments...))
            objects.push_back(object_of(section, row));
    });
    return objects;
}

// Raises if another session has dropped the object since the caller saw it.
Object only(std::vector<Object> objects, const char *what)
{
    if (objects.empty())
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("%s has just been dropped", what),
                   errhint("Try again."));
    return std::move(objects.front());
}

std::vector<std::int64_t> own_queues()
{
    std::vector<std::int64_t> ids;
    for (const auto &[id, queue] : catalog::catalogue()->queues)
        if (!queue.is_dropped && catalog::acts_as_owner(catalog::caller(), queue))
            ids.push_back(id);
    return ids;
}

}  // namespace

std::vector<Object> read_objects()
{
    const pg::OwnSettings own;
    const std::vector<std::int64_t> queues = own_queues();
    const bool all = pg::call([] { return ::superuser(); });
    const std::optional<std::string> no_name;
    std::vector<Object> objects;
    const auto add = [&](std::vector<Object> more) {
        objects.insert(objects.end(), std::make_move_iterator(more.begin()),
                       std::make_move_iterator(more.end()));
    };
    add(read(Section::instances, select_instances, queues, all, no_name));
    add(read(Section::queues, select_queues, queues));
    add(read(Section::job_types, select_job_types, queues, no_name));
    add(read(Section::grants, select_grants, queues));
    add(read(Section::schedules, select_schedules, queues));
    add(read(Section::pauses, select_pauses, queues, all));
    return objects;
}

Object read_instance(const std::string &name)
{
    return only(read(Section::instances, select_instances, std::vector<std::int64_t>{}, false,
                     std::optional(name)),
                "the instance");
}

Object read_queue(int queue_id)
{
    return only(read(Section::queues, select_queues, std::vector<std::int64_t>{queue_id}),
                "the queue");
}

Object read_job_type(int queue_id, const std::string &name)
{
    return only(read(Section::job_types, select_job_types, std::vector<std::int64_t>{queue_id},
                     std::optional(name)),
                "the job type");
}

std::vector<Difference> differences(const Object &before, const Object &after)
{
    std::vector<Difference> found;
    pg::as_extension_owner([&] {
        for (const pg::Row row : select_differences.run(before.whole, after.whole))
            found.push_back(
                {row.text(0), row.raw(1), row.raw(2), row.maybe_text(3), row.maybe_text(4)});
    });
    return found;
}

}  // namespace hipq::admin
