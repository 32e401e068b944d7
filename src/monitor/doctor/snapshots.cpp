// Checks what blocks vacuum and the removal of WAL: transactions, slots, standbys.
#include "monitor/doctor/findings.hpp"

namespace hipq::monitor {

namespace {

// The threshold of alert 'held snapshot', or its default if the alert is off.
#define HIPQ_LONG                                                                                  \
    "CASE WHEN current_setting('hipq.alert_held_snapshot')::interval < '0' THEN interval '10 "     \
    "min' "                                                                                        \
    "ELSE current_setting('hipq.alert_held_snapshot')::interval END"

constexpr const char *sessions_sql = R"(
    SELECT NULL::integer,
           'warning',
           format('process %s', activity.pid),
           'blocked vacuum',
           format('Since %s a transaction of %s (%s) keeps dead rows of this database: tables of jobs grow, and claims slow down.',
                  activity.xact_start, coalesce(activity.usename, activity.backend_type), coalesce(activity.state, activity.backend_type)),
           'End it. Setting idle_in_transaction_session_timeout ends those that do nothing.',
           format('SELECT pg_terminate_backend(%s)', activity.pid)
    FROM pg_stat_activity AS activity
    WHERE activity.datname = current_database() AND activity.backend_type NOT IN ('autovacuum worker', 'walsender')
      AND (activity.backend_xmin IS NOT NULL OR activity.backend_xid IS NOT NULL)
      AND clock_timestamp() - activity.xact_start > )" HIPQ_LONG R"(
    ORDER BY activity.xact_start)";

constexpr const char *prepared_sql = R"(
    SELECT NULL::integer,
           'warning',
           format('prepared transaction "%s"', prepared.gid),
           'blocked vacuum',
           format('Since %s it keeps dead rows of this database, and the locks that it has taken.', prepared.prepared),
           'Commit it or roll it back: COMMIT PREPARED, ROLLBACK PREPARED.',
           format('ROLLBACK PREPARED %L', prepared.gid)
    FROM pg_prepared_xacts AS prepared
    WHERE prepared.database = current_database() AND clock_timestamp() - prepared.prepared > )" HIPQ_LONG
                                     R"(
    ORDER BY prepared.prepared)";

#undef HIPQ_LONG

// The same condition as alert 'prepared set-up'.
constexpr const char *prepared_set_up_sql = R"(
    SELECT NULL::integer, 'error', format('prepared transaction "%s"', prepared.gid), 'prepared set-up',
           format('Since %s others cannot change the queues, job types, rights or schedules that it has changed, nor perhaps make any queue.', prepared.prepared),
           'Commit it or roll it back: COMMIT PREPARED, ROLLBACK PREPARED.',
           format('ROLLBACK PREPARED %L', prepared.gid)
    FROM pg_prepared_xacts AS prepared
    WHERE prepared.database = current_database() AND EXISTS (
        SELECT FROM pg_locks AS own
        JOIN pg_locks AS held ON held.virtualtransaction = own.virtualtransaction AND held.pid IS NULL
        WHERE own.transactionid = prepared.transaction AND own.pid IS NULL AND held.locktype = 'object' AND held.classid = 'hipq.queue'::regclass
    )
    ORDER BY prepared.prepared)";

// The age of a slot's xmin is the number of transactions that it holds back. A slot with an
// uncertain age gets a row that states only facts. shards.cpp checks hipq's own slots.
constexpr const char *replication_slots_sql = R"(
    SELECT NULL::integer, problem.severity, format('replication slot "%s"', slot.slot_name), problem.finding, problem.detail,
           'Start what reads from it; or drop the slot if nothing does any more.',
           CASE WHEN NOT slot.active THEN format('SELECT pg_drop_replication_slot(%L)', slot.slot_name) END
    FROM pg_replication_slots AS slot
    CROSS JOIN LATERAL (
        SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END AS present
    ) AS wal
    CROSS JOIN LATERAL (
        SELECT 'error' AS severity, 'lost slot' AS finding,
               format('WAL that it needs is removed, or will be with the next checkpoint (wal_status %s): its reader has to begin anew.', slot.wal_status) AS detail
        WHERE slot.wal_status IN ('unreserved', 'lost')
        UNION ALL
        SELECT 'warning', 'inactive slot',
               format('Nothing reads from it, and it keeps %s of WAL%s.', pg_size_pretty(pg_wal_lsn_diff(wal.present, slot.restart_lsn)),
                      CASE WHEN slot.xmin IS NOT NULL THEN ', and dead rows of every table' ELSE '' END)
        WHERE NOT slot.active AND slot.restart_lsn IS NOT NULL AND slot.wal_status IN ('reserved', 'extended')
        UNION ALL
        SELECT 'warning', 'blocked vacuum', format('It keeps dead rows of the last %s transactions, as hot_standby_feedback of its reader asks.', age(slot.xmin))
        WHERE slot.active AND age(slot.xmin) > 1000000
    ) AS problem
    WHERE slot.slot_name NOT IN (SELECT line.slot FROM ()" HIPQ_LINES R"() AS line)
    ORDER BY slot.slot_name)";

constexpr const char *feedback_sql = R"(
    SELECT NULL::integer,
           'warning',
           format('standby "%s"', standby.application_name),
           'blocked vacuum',
           format('A query on it keeps dead rows of the last %s transactions here (hot_standby_feedback).', age(standby.backend_xmin)),
           'End the long queries there; or switch hot_standby_feedback off there.',
           NULL
    FROM pg_stat_replication AS standby
    WHERE age(standby.backend_xmin) > 1000000
    ORDER BY standby.application_name)";

}  // namespace

std::span<const SqlCheck> snapshot_checks()
{
    static constexpr SqlCheck checks[] = {
        {"transactions", sessions_sql},
        {"prepared transactions", prepared_sql},
        {"prepared set-up", prepared_set_up_sql},
        {"replication slots", replication_slots_sql},
        {"standbys", feedback_sql},
    };
    return checks;
}

}  // namespace hipq::monitor
