// Checks queues: whether their owner may run jobs, whose jobs they have, and whether their options
// make sense.
#include "monitor/doctor/findings.hpp"

namespace hipq::monitor {

namespace {

// Without SQL handlers no process connects as the owner.
constexpr const char *owners_sql = R"(
    SELECT queue.queue_id,
           CASE WHEN EXISTS (SELECT FROM hipq.job_type AS type WHERE type.queue_id = queue.queue_id AND type.handler_kind NOT IN ('none', 'notify'))
               THEN 'error' ELSE 'information' END,
           format('queue "%s.%s"', instance.name, queue.name),
           problem.finding,
           problem.detail || ' Jobs with SQL handlers wait.',
           problem.hint,
           problem.statement
    FROM hipq.queue
    JOIN hipq.instance ON instance.instance_id = queue.instance_id
    LEFT JOIN pg_roles AS role ON role.oid = queue.owner
    CROSS JOIN LATERAL (
        SELECT 'owner gone' AS finding, CASE WHEN queue.owner::oid = 1 THEN 'Its owner did not exist where it was restored.'
                    ELSE format('Its owner, the role with OID %s, does not exist.', queue.owner::oid) END AS detail,
               'Give it another one with hipq.alter_queue(owner => ...).' AS hint, NULL AS statement
        WHERE role.oid IS NULL
        UNION ALL
        SELECT 'owner without LOGIN', format('Its owner "%s" may not log in.', role.rolname),
               'Executors connect as the owner: let it log in. It needs no password.', format('ALTER ROLE %I LOGIN', role.rolname)
        WHERE NOT role.rolcanlogin
        UNION ALL
        SELECT 'owner without CONNECT', format('Its owner "%s" may not connect to database "%s".', role.rolname, current_database()),
               'Executors connect as the owner: grant it the right.', format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), role.rolname)
        WHERE role.oid IS NOT NULL AND NOT has_database_privilege(role.oid, current_database(), 'CONNECT')
    ) AS problem
    WHERE NOT queue.is_dropped
    ORDER BY instance.name, queue.name)";

// While a subscription feeds the queue, the hold is intended.
constexpr const char *holds_sql = R"(
    SELECT queue.queue_id,
           CASE WHEN fed.is_fed THEN 'information' ELSE 'warning' END,
           format('queue "%s.%s"', instance.name, queue.name),
           'held queue',
           format('Subscription "%s" has brought its jobs, which are another server''s%s', hold.subscription,
                  CASE WHEN fed.is_fed THEN '.' ELSE ', and feeds it no more: its jobs wait.' END),
           CASE WHEN fed.is_fed THEN 'Nothing, as long as the other server runs them.' ELSE 'Release it if its jobs shall run here, and nowhere else.' END,
           CASE WHEN NOT fed.is_fed THEN format('SELECT hipq.release_hold(%L)', instance.name || '.' || queue.name) END
    FROM hipq.queue_hold AS hold
    JOIN hipq.queue ON queue.queue_id = hold.queue_id
    JOIN hipq.instance ON instance.instance_id = queue.instance_id
    CROSS JOIN LATERAL (
        SELECT EXISTS (
            SELECT FROM pg_subscription
            WHERE subname = hold.subscription AND subenabled AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
        ) AS is_fed
    ) AS fed
    WHERE NOT queue.is_dropped
    ORDER BY instance.name, queue.name)";

constexpr const char *options_sql = R"(
    SELECT queue.queue_id, 'warning', format('queue "%s"', queue.full_name), rule.finding, rule.detail, rule.hint,
           format('SELECT hipq.alter_queue(%L, %s)', queue.full_name, rule.change)
    FROM (
        SELECT queue.*, instance.name || '.' || queue.name AS full_name
        FROM hipq.queue
        JOIN hipq.instance ON instance.instance_id = queue.instance_id
        WHERE NOT queue.is_dropped
    ) AS queue
    CROSS JOIN LATERAL (VALUES
        (queue.throttle_limit > 0 AND queue.throttle_limit < 1,
         'limit below 1', format('Its throttle_limit %s limits nothing: below 1 there is no limit.', trim_scale(queue.throttle_limit)),
         'Give at least 1, or 0 for none.', 'throttle_limit => 1'),
        (queue.dead_letter_handler <> 'NONE' AND NOT coalesce(queue.dead_letter_enabled, current_setting('hipq.dead_letter_enabled')::boolean),
         'handler never called', 'It has a handler of dead letters, and its failed jobs leave none.',
         'Let them, or take the handler away (dead_letter_handler => ''NONE'').', 'dead_letter_enabled => true')
    ) AS rule (is_broken, finding, detail, hint, change)
    WHERE rule.is_broken
    ORDER BY queue.full_name, rule.finding)";

// The scheduler drops the rest when no session reads it.
constexpr const char *dropped_sql = R"(
    SELECT queue.queue_id, 'information', format('queue "%s.%s"', instance.name, queue.name), 'half dropped',
           'It has been dropped, and its tables are still there.',
           'hipq drops them when nobody reads them. End old transactions that do.', NULL
    FROM hipq.queue
    JOIN hipq.instance ON instance.instance_id = queue.instance_id
    WHERE queue.is_dropped)";

}  // namespace

std::span<const SqlCheck> queue_checks()
{
    static constexpr SqlCheck checks[] = {
        {"queue owners", owners_sql},
        {"held queues", holds_sql},
        {"options of queues", options_sql},
        {"dropped queues", dropped_sql},
    };
    return checks;
}

}  // namespace hipq::monitor
