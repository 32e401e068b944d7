// Checks whether this server can be a node of a sharded instance.
#include "shards/fitness.hpp"

#include "pg/arguments.hpp"
#include "pg/transaction.hpp"

namespace hipq::shards {

namespace {

// $1: for the router, which calls the others. From PostgreSQL 19 on, level replica suffices: while
// there is a logical slot, effective_wal_level is logical.
constinit pg::Statement select_problem(R"(
    SELECT rule.problem, rule.hint
    FROM (VALUES
        (current_setting('wal_level') = 'minimal'
             OR current_setting('wal_level') = 'replica' AND current_setting('effective_wal_level', true) IS NULL,
         'wal_level is ' || current_setting('wal_level'), 'Set wal_level = logical and restart the server.'),
        ((SELECT count(*) FROM pg_catalog.pg_replication_slots) >= current_setting('max_replication_slots')::integer,
         'no replication slot is free', 'Raise max_replication_slots and restart the server.'),
        ((SELECT count(*) FROM pg_catalog.pg_stat_replication) >= current_setting('max_wal_senders')::integer,
         'no WAL sender is free', 'Raise max_wal_senders and restart the server.'),
        ((SELECT count(*) FROM pg_catalog.pg_subscription AS subscription WHERE subscription.subenabled)
             >= current_setting('max_logical_replication_workers')::integer,
         'no logical replication worker is free', 'Raise max_logical_replication_workers and restart the server.'),
        (current_setting('wal_sender_timeout') = '0',
         'wal_sender_timeout is 0', 'Set wal_sender_timeout: without it nobody notices a node that is frozen.'),
        (pg_catalog.getdatabaseencoding() <> 'UTF8',
         'the encoding of the database is ' || pg_catalog.getdatabaseencoding(), 'Use a database in UTF8: slots are made of the bytes of keys.'),
        (NOT (SELECT role.rolsuper FROM pg_catalog.pg_roles AS role WHERE role.rolname = session_user),
         'role "' || session_user || '" is no superuser', 'Use a superuser: only one may make what the nodes need.'),
        ($1 AND NOT EXISTS (SELECT FROM pg_catalog.pg_extension AS extension WHERE extension.extname = 'dblink'),
         'extension "dblink" is not installed', 'Run CREATE EXTENSION dblink: hipq calls the other nodes with it.')
    ) AS rule (is_broken, problem, hint)
    WHERE rule.is_broken
    LIMIT 1)");

}  // namespace

std::optional<Problem> unfit(bool for_router)
{
    return pg::as_extension_owner([&]() -> std::optional<Problem> {
        const pg::Rows rows = select_problem.run(for_router);
        if (rows.empty())
            return std::nullopt;
        return Problem{rows.front().text(0), rows.front().text(1)};
    });
}

}  // namespace hipq::shards

// The router calls it on a shard.
HIPQ_FUNCTION(hipq__unfit_for_shards)
{
    const auto problem = hipq::shards::unfit(false);
    return hipq::pg::return_text(problem.has_value() ? problem->text + "|" + problem->hint : "");
}
