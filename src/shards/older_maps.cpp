// Looks for transactions that may have placed jobs by an older map.
//
// Each of them has the map locked until it ends (catalogue_with_locked_maps). Waiting for a
// conflicting lock would show the same, but would make every session that enqueues wait behind it.
#include "shards/older_maps.hpp"

#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"

namespace hipq::shards {

namespace {

constinit pg::Statement look_anew("SELECT pg_catalog.pg_stat_clear_snapshot()");

// A prepared transaction has no process.
constinit pg::Statement select_users(R"(
    SELECT
    FROM pg_catalog.pg_locks AS held
    JOIN pg_catalog.pg_database AS database ON database.oid = held.database AND database.datname = current_database()
    LEFT JOIN pg_catalog.pg_stat_activity AS activity ON activity.pid = held.pid
    WHERE held.relation = 'hipq.shard_map'::regclass AND held.mode = 'RowShareLock'
      AND held.pid IS DISTINCT FROM pg_backend_pid()
      AND (activity.xact_start IS NULL OR activity.xact_start <= $1)
    LIMIT 1)");

constinit pg::Statement select_position("SELECT pg_catalog.pg_current_wal_insert_lsn()::text");

}  // namespace

bool has_users_since(pg::Time moment)
{
    return pg::as_hipq([&] {
        look_anew.run();
        return !select_users.run_latest(moment).empty();
    });
}

}  // namespace hipq::shards

HIPQ_FUNCTION(hipq__position_after_all_sent)
{
    const auto since = hipq::pg::Arguments(fcinfo).maybe_time({0, "since"});
    if (!since.has_value() || hipq::shards::has_users_since(*since))
        return hipq::pg::return_text("");
    return hipq::pg::return_text(
        hipq::pg::as_hipq([] { return hipq::shards::select_position.run().front().text(0); }));
}
