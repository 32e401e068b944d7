// Checks the connections between the nodes of a sharded instance: slots, subscriptions, letters,
// clocks.
#include "monitor/doctor/findings.hpp"
#include "nodes/nodes.hpp"
#include "pg/clock.hpp"
#include "shared/databases/duties_set_aside.hpp"
#include "shared/memory/registry.hpp"

#include <cmath>

namespace hipq::monitor {

namespace {

// The slots belong to hipq: resync_shard() restarts their readers, and dropping a slot loses jobs.
constexpr const char *slots_sql = "WITH line AS (" HIPQ_LINES R"()
    SELECT NULL::integer, problem.severity, format('replication slot "%s"', line.slot), problem.finding, problem.detail, problem.hint, problem.statement
    FROM line
    LEFT JOIN pg_replication_slots AS slot ON slot.slot_name = line.slot
    CROSS JOIN LATERAL (
        SELECT pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, slot.restart_lsn) AS bytes,
               pg_size_bytes(current_setting('hipq.outbox_max')) AS most
    ) AS kept
    CROSS JOIN LATERAL (
        SELECT 'error' AS severity, 'lost slot' AS finding,
               format('hipq sends by it to %s, and %s.', line.reader,
                      CASE WHEN slot.slot_name IS NULL THEN 'it is gone' ELSE format('WAL that it needs is removed, or will be with the next checkpoint (wal_status %s)', slot.wal_status) END) AS detail,
               CASE WHEN line.is_router THEN 'Bring the shard back into step; nothing is lost before hipq.outbox_keep is over.'
                    ELSE 'Bring this shard back into step, on the router; nothing is lost before hipq.outbox_keep is over.' END AS hint,
               CASE WHEN line.is_router THEN line.resync END AS statement
        WHERE slot.slot_name IS NULL OR slot.wal_status IN ('unreserved', 'lost')
        UNION ALL
        SELECT 'warning', 'inactive slot',
               format('hipq sends by it to %s, which does not read: what is for it waits, and %s of WAL is kept.', line.reader, pg_size_pretty(kept.bytes)),
               'Start that server; its log, and hipq.alerts there, say what is in the way. Do not drop the slot: jobs would be missing.',
               NULL
        WHERE NOT slot.active AND slot.wal_status IN ('reserved', 'extended')
        UNION ALL
        SELECT 'warning', 'much WAL kept',
               format('It keeps %s of WAL for %s, more than hipq.outbox_max (%s): enqueueing for it is refused. That setting does not bound the disk: what all others write is kept, too.',
                      pg_size_pretty(kept.bytes), line.reader, current_setting('hipq.outbox_max')),
               'See why it is behind: hipq.shards on the router, hipq.alerts on both. max_slot_wal_keep_size bounds the disk.',
               NULL
        WHERE kept.most > 0 AND kept.bytes > kept.most
    ) AS problem
    ORDER BY line.slot)";

constexpr const char *subscriptions_sql = "WITH line AS (" HIPQ_LINES R"()
    SELECT NULL::integer,
           'error',
           format('subscription "%s"', line.subscription),
           CASE WHEN known.oid IS NULL THEN 'lost subscription' ELSE 'disabled subscription' END,
           format('hipq takes by it what %s sends, and it is %s: jobs wait there, and WAL is kept for it.', line.reader, CASE WHEN known.oid IS NULL THEN 'gone' ELSE 'disabled' END),
           CASE WHEN known.oid IS NOT NULL THEN 'Enable it.' WHEN line.is_router THEN 'Make it anew.' ELSE 'Make it anew, on the router: ' || line.resync || '.' END,
           CASE WHEN known.oid IS NOT NULL THEN format('ALTER SUBSCRIPTION %I ENABLE', line.subscription) WHEN line.is_router THEN line.resync END
    FROM line
    LEFT JOIN pg_subscription AS known
        ON known.subname = line.subscription AND known.subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    WHERE NOT coalesce(known.subenabled, false)
    ORDER BY line.subscription)";

// A full disk is worse than sending letters again from kept rows.
constexpr const char *kept_wal_sql = "WITH line AS (" HIPQ_LINES R"()
    SELECT NULL::integer,
           'warning',
           'setting max_slot_wal_keep_size',
           'unbounded WAL',
           'max_slot_wal_keep_size is -1: a node that does not read fills the disk of this server with WAL, beyond hipq.outbox_max, which only refuses new jobs for it.',
           'Bound it. A slot that is lost by that comes back by hipq.resync_shard() from rows that hipq.outbox_keep keeps. Then reload: SELECT pg_reload_conf().',
           format('ALTER SYSTEM SET max_slot_wal_keep_size = ''%sMB''', greatest(2 * pg_size_bytes(current_setting('hipq.outbox_max')) / 1048576, 4096))
    WHERE current_setting('max_slot_wal_keep_size') = '-1' AND EXISTS (SELECT FROM line))";

constexpr const char *said_trouble_sql = R"(
    SELECT NULL::integer,
           'error',
           format('shard %s of instance "%s"', said.node, instance.name),
           'letters not taken',
           format('It cannot take what this server sends, and all that comes after it waits: %s.', said.trouble),
           'Mend there what the error tells of: it is tried again and again.',
           NULL
    FROM hipq.shard_stats AS said
    JOIN hipq.instance USING (instance_id)
    WHERE said.trouble IS NOT NULL
    ORDER BY instance.name, said.node)";

void look_at_letters(Diagnoses &found)
{
    for (const memory::SetAside &aside : databases::list_set_aside())
        if (aside.duty == core::Duty::letters)
            found.push_back({Severity::error, "database", "letters not taken",
                             "This server cannot take what another one sends, and all that comes "
                             "after it waits: " +
                                 std::string(aside.error) + ".",
                             "Mend what the error tells of: it is tried again and again."});
}

constexpr const char *neighbours_sql = "WITH line AS (" HIPQ_LINES R"()
    SELECT line.reader, line.conninfo FROM line WHERE line.is_router ORDER BY line.reader)";

constexpr double most_difference = 2;  // s

// Seconds since 2000 by hipq's clock, which decides when jobs are due.
double seconds_here()
{
    return static_cast<double>(pg::now().value) / 1e6;
}

constexpr const char *clock_sql =
    "SELECT extract(epoch FROM hipq.now() - timestamptz '2000-01-01 00:00:00+00')::text";

// Compares with the times before and after the query.
void look_at_clock(Diagnoses &found, const std::string &shard, const std::string &conninfo)
{
    const double before = seconds_here();
    const nodes::Reply reply = nodes::ask(conninfo, clock_sql, shard);
    const double after = seconds_here();
    if (!reply.is_reached) {
        found.push_back({Severity::warning, shard, "not reached",
                         "This server cannot reach it: calls by id do not work.",
                         "Start it; the log of this server says what is in the way."});
        return;
    }
    const double there = std::stod(reply.answer.value_or("0"));
    const double difference = there < before ? there - before : there - std::min(there, after);
    if (std::abs(difference) < most_difference)
        return;
    const long seconds = std::lround(std::abs(difference));
    found.push_back({Severity::warning, shard, "clocks differ",
                     "Its clock is " + std::to_string(seconds) + " s " +
                         (difference < 0 ? "behind" : "ahead of") +
                         " that of this server: jobs are due, expire and are in order by other "
                         "times there.",
                     "Have all servers follow one clock, by NTP."});
}

void look_at_clocks(Diagnoses &found)
{
    for (const pg::Row row : pg::run_once(neighbours_sql))
        look_at_clock(found, row.text(0), row.text(1));
}

}  // namespace

std::span<const SqlCheck> shard_checks()
{
    static constexpr SqlCheck checks[] = {
        {"replication slots of shards", slots_sql},
        {"subscriptions of shards", subscriptions_sql},
        {"max_slot_wal_keep_size", kept_wal_sql},
        {"what shards say of letters", said_trouble_sql},
    };
    return checks;
}

std::span<const Look> shard_looks()
{
    static constexpr Look looks[] = {
        {"letters of other nodes", Audience::monitors, look_at_letters},
        {"the clocks of shards", Audience::monitors, look_at_clocks},
    };
    return looks;
}

}  // namespace hipq::monitor
