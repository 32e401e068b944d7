// Creates and drops the tables of a queue, and completes what drop_queue() began.
//
// The table of a queue is created detached and then attached: CREATE TABLE ... PARTITION OF would
// lock hipq.job for reading and writing. Its leaves are created in place, as no other session sees
// the table yet: that is one statement instead of a copy, a merge and a validation. Each table of a
// queue costs milliseconds, and each relation a lock until the end of the transaction, so a new
// queue has only the relations that it needs before its first job is final.
#include "tables/queue_table.hpp"

#include "core/text/names.hpp"
#include "pg/clock.hpp"
#include "pg/fields.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"
#include "pg/subtransaction.hpp"
#include "pg/transaction.hpp"
#include "settings.hpp"
#include "shared/statistics/counters.hpp"
#include "shared/wakeup/commit.hpp"
#include "tables/maintain_leaves.hpp"
#include "tables/make_leaf.hpp"
#include "tables/try_lock.hpp"

extern "C" {
#include "storage/lmgr.h"
}

namespace hipq::tables {

namespace {

constinit pg::Statement select_queue_name(R"(
    SELECT instance.name || '.' || queue.name
    FROM hipq.queue AS queue
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE queue.queue_id = $1)");

std::string name_of_queue(int queue_id)
{
    const pg::Rows rows = select_queue_name.run(queue_id);
    return rows.empty() ? std::to_string(queue_id) : rows.front().text(0);
}

void create_parent(const std::string &table)
{
    const std::string name = pg::quote_table(table);
    pg::run_once("CREATE TABLE " + name +
                 " (LIKE hipq.job INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS) "
                 "PARTITION BY LIST (state)");
}

// `columns` and `options` are the parts of CREATE TABLE before and after the bound.
void create_part(const std::string &table, const std::string &part, const std::string &columns,
                 const std::string &states, const std::string &options)
{
    pg::run_once("CREATE TABLE " + pg::quote_table(part) + " PARTITION OF " +
                 pg::quote_table(table) + " " + columns + " FOR VALUES IN (" + states + ") " +
                 options);
}

void create_key_index(const std::string &table, core::UniqueScope scope)
{
    pg::run_once("CREATE UNIQUE INDEX " + pg::quote_name(core::key_index_name(table)) + " ON " +
                 pg::quote_table(core::live_leaf_name(table)) + " " + key_index_columns(scope) +
                 " WHERE job_key <> 'NONE'");
}

// No index contains a column that a claim or a success changes, so writing `running` is a HOT
// update while the page has room. Pages are filled to 90 % all the same until a type needs that
// room (leave_room_for_claims()). Claims by lock, the normal way for fast jobs, need none, and
// while an old snapshot keeps pages from being reused, half-filled pages cost more than anything
// else (docs/performance.md).
void create_live_leaf(const std::string &table, core::UniqueScope scope)
{
    const std::string leaf = core::live_leaf_name(table);
    create_part(table, leaf, "(CONSTRAINT " + pg::quote_name(leaf + "_pkey") + " PRIMARY KEY (id))",
                "NULL, 'initial', 'running', 'error', 'retry'",
                "WITH (fillfactor = 90, vacuum_truncate = off)");
    const std::string on_leaf = " ON " + pg::quote_table(leaf) + " ";
    create_key_index(table, scope);
    pg::run_once("CREATE INDEX " + pg::quote_name(leaf + "_line") + on_leaf +
                 "(job_type, priority, scheduled_run_time, id) WHERE waits_for IS NULL");
    pg::run_once("CREATE INDEX " + pg::quote_name(leaf + "_held") + on_leaf +
                 "(job_type, id) WHERE waits_for IS NOT NULL");
    pg::run_once("CREATE INDEX " + pg::quote_name(leaf + "_batch") + on_leaf +
                 "(batch_id, id) WHERE batch_id IS NOT NULL");
    pg::run_once("CREATE INDEX " + pg::quote_name(leaf + "_expiry") + on_leaf +
                 "(expires_time) WHERE expires_time < '9999-01-01 00:00:00+00'");
}

// The reloptions of a leaf with room for a second version of each of its rows.
constexpr const char *roomy = "fillfactor=50";

constinit pg::Statement select_is_roomy(R"(
    SELECT FROM pg_class
    WHERE relnamespace = 'hipq'::regnamespace AND relname = $1 AND $2 = ANY (reloptions))");

// The scheduler creates the other leaves when the first job is final; see ask_for_leaves().
void create_final_tree(const std::string &table)
{
    const std::string tree = core::final_tree_name(table);
    create_part(table, tree, "", "'final'", "PARTITION BY RANGE (update_time)");
    make_first_leaf(TimeTree{tree, "update_time", 0, TimeTree::Indexes::final_jobs});
}

constexpr std::array marked_queue_fields{
    pg::field<&MarkedQueue::id>("queue.queue_id"),
    pg::field<&MarkedQueue::table>("queue.table_name"),
    pg::field<&MarkedQueue::relation>("relation.oid"),
    pg::field<&MarkedQueue::is_attached>("relation.relispartition"),
};

constinit pg::Selection<MarkedQueue> select_marked_queues(marked_queue_fields, R"(
    FROM hipq.queue AS queue
    LEFT JOIN pg_class AS relation ON relation.relnamespace = 'hipq'::regnamespace AND relation.relname = queue.table_name
    WHERE queue.is_dropped
    ORDER BY queue.queue_id)");

// Waits for locks as DROP TABLE does. A transaction that works in a leaf may still lock its table
// afterwards, to read the leaf's bounds, while DROP TABLE locks the table first and then its
// leaves. If this process is the victim of such a deadlock, it releases its locks, so that the
// other transaction can finish, and tries again.
void drop_queue_table(std::string_view table)
{
    constexpr int most_tries = 5;
    // Another process may be dropping the table; suppress the NOTICE of IF EXISTS.
    pg::call([] {
        (void)::set_config_option("client_min_messages", "warning", PGC_USERSET, PGC_S_SESSION,
                                  GUC_ACTION_SAVE, true, 0, false);
    });
    for (int tries = 1;; ++tries) {
        const auto error = pg::in_subtransaction(pg::Ending::kept, [&] {
            pg::run_once("DROP TABLE IF EXISTS " + pg::quote_table(table));
        });
        if (!error.has_value())
            return;
        if (error->sqlerrcode() != ERRCODE_T_R_DEADLOCK_DETECTED || tries == most_tries)
            throw *error;
    }
}

// Skips a queue that another process is dropping: that process may be waiting for a lock that is
// held here.
constinit pg::Statement lock_marked_queue(
    "SELECT 1 FROM hipq.queue WHERE queue_id = $1 AND is_dropped FOR UPDATE SKIP LOCKED");

// Waits for a process that is just detaching the queue's table. Otherwise PostgreSQL would fail
// with an internal error, because it still takes the table for a partition but does not find its
// parent. Waiting for the row alone is not enough: the row becomes visible before invalidations are
// sent; only the table lock is released late enough.
void wait_for_detaching(int queue_id, std::string_view table)
{
    static constinit pg::Statement lock_queue(
        "SELECT 1 FROM hipq.queue WHERE queue_id = $1 FOR UPDATE");
    lock_queue.run(queue_id);
    const std::string name(table);
    pg::call([&] {
        const Oid relation = ::get_relname_relid(name.c_str(), ::get_namespace_oid("hipq", false));
        if (!OidIsValid(relation))
            return;
        ::LockRelationOid(relation, AccessShareLock);
        ::UnlockRelationOid(relation, AccessShareLock);
    });
}

// The tables that have rows of queues, in the order in which forget_queue() deletes from them; jobs
// and their attempts are in tables of their own.
constexpr std::array tables_with_queues{"dead_letter",     "dependency", "graph_job", "batch",
                                        "made_by_handler", "aimed_job",  "set_aside", "pause",
                                        "queue_hold",      "queue",      "job_type",  "rate_lease",
                                        "breaker_state"};

// The tables that DETACH PARTITION locks.
constinit pg::Statement select_tree(
    "SELECT 'hipq.job'::regclass::oid UNION ALL SELECT relid::oid FROM pg_partition_tree($1)");

// Whether the queue is still marked, and locks its row if so. Another process may have dropped it
// in the meantime, and its table name may then belong to another queue.
bool is_still_marked(const MarkedQueue &queue)
{
    return !lock_marked_queue.run(queue.id).empty();
}

bool detach(const MarkedQueue &queue, Patience &patience)
{
    if (!queue.is_attached)
        return true;
    std::vector<WantedLock> locks;
    pg::with_transaction([&] {
        pg::as_extension_owner([&] {
            for (const pg::Row row : select_tree.run(queue.relation))
                locks.push_back({row.oid(0), AccessExclusiveLock});
        });
    });
    return with_conditional_locks(locks, patience, [&] {
        pg::as_hipq([&] {
            if (is_still_marked(queue))
                pg::run_once("ALTER TABLE hipq.job DETACH PARTITION " +
                             pg::quote_table(queue.table));
        });
    });
}

bool drop_detached(const MarkedQueue &queue, Patience &patience)
{
    std::vector<WantedLock> locks;
    pg::with_transaction([&] {
        if (OidIsValid(queue.relation))
            locks = locks_to_drop(queue.relation);
        for (const char *table : tables_with_queues)
            locks.push_back({relation_oid(table), RowExclusiveLock});
    });
    return with_conditional_locks(locks, patience, [&] {
        pg::as_hipq([&] {
            if (is_still_marked(queue))
                forget_queue(queue.id, queue.table);
        });
    });
}

}  // namespace

void attach_queue_table(int queue_id, std::string_view table)
{
    const std::string name = pg::quote_table(table);
    const std::string number = std::to_string(queue_id);
    pg::run_once("ALTER TABLE " + name + " ALTER COLUMN queue_id SET DEFAULT " + number);
    pg::run_once("ALTER TABLE hipq.job ATTACH PARTITION " + name + " FOR VALUES IN (" + number +
                 ")");
}

// As PostgreSQL prints them. The index has a collation of its own for column shard_key: the
// database's collation may change with the library that provides it. Besides the unfinished job
// with a key there may be one that follows it, which the last column tells apart.
#define HIPQ_FOLLOWS "((NOT (waits_for IS DISTINCT FROM 'key'::text)))"
const char *key_index_columns(core::UniqueScope scope)
{
    return scope == core::UniqueScope::shard_key
               ? "(job_type, job_key, shard_key COLLATE \"C\", " HIPQ_FOLLOWS ")"
               : "(job_type, job_key, " HIPQ_FOLLOWS ")";
}

void remake_key_index(const std::string &table, core::UniqueScope scope)
{
    pin_table_settings();
    const std::string index = core::key_index_name(table);
    if (OidIsValid(relation_oid(index)))
        pg::run_once("DROP INDEX " + pg::quote_table(index));
    create_key_index(table, scope);
}

void create_queue_table(int queue_id, std::string_view table, core::UniqueScope scope)
{
    pin_table_settings();
    const std::string name(table);
    const std::string queue = name_of_queue(queue_id);
    create_parent(name);
    attach_queue_table(queue_id, name);
    create_live_leaf(name, scope);
    create_final_tree(name);
    strip_grants({name, core::live_leaf_name(name), core::final_tree_name(name)});
    comment_on(name, "queue " + queue + ": INSERT a row to enqueue a job");
    comment_on(core::live_leaf_name(name), "queue " + queue + ": unfinished jobs");
    comment_on(core::final_tree_name(name), "queue " + queue + ": final jobs, by update_time");
}

void leave_room_for_claims(std::string_view table)
{
    const std::string leaf = core::live_leaf_name(table);
    if (select_is_roomy.run(leaf, roomy).empty())
        pg::run_once("ALTER TABLE " + pg::quote_table(leaf) + " SET (" + roomy + ")");
}

bool index_throttle_keys(const std::string &table, Patience &patience)
{
    const std::string leaf = core::live_leaf_name(table);
    const std::string index = core::throttle_index_name(leaf);
    Oid leaf_oid = InvalidOid;
    bool is_there = false;
    pg::with_transaction([&] {
        leaf_oid = relation_oid(leaf);
        is_there = OidIsValid(relation_oid(index));
    });
    if (is_there || !OidIsValid(leaf_oid))
        return is_there;
    return with_conditional_locks({{leaf_oid, ShareLock}}, patience, [&] {
        pg::as_hipq([&] {
            pin_table_settings();
            pg::run_once("CREATE INDEX " + pg::quote_name(index) + " ON " + pg::quote_table(leaf) +
                         " (job_type, hipq._key_hash(throttle_key), priority, scheduled_run_time, "
                         "id) WHERE waits_for IS NULL AND throttle_key <> 'NONE'");
        });
    });
}

void forget_queue(int queue_id, std::string_view table)
{
    wait_for_detaching(queue_id, table);
    drop_queue_table(table);
    for (const char *of_batch : {"batch_failure", "batch_join"})
        pg::run_once("DELETE FROM hipq." + std::string(of_batch) +
                         " AS gone USING hipq.batch AS batch "
                         "WHERE batch.queue_id = $1 AND gone.batch_id = batch.batch_id",
                     queue_id);
    for (const char *with_queues : tables_with_queues)
        pg::run_once("DELETE FROM hipq." + std::string(with_queues) + " WHERE queue_id = $1",
                     queue_id);
    statistics::reset_statistics(MyDatabaseId, queue_id);  // they could not be reset later
    wakeup::note_unknown_waits();  // jobs of other queues may have come after its jobs
}

void mark_queue_dropped(int queue_id, std::string_view table)
{
    static constinit pg::Statement mark(
        "UPDATE hipq.queue SET is_dropped = true WHERE queue_id = $1");
    mark.run(queue_id);
    strip_grants({std::string(table), core::live_leaf_name(table)});
}

std::vector<MarkedQueue> read_marked_queues()
{
    std::vector<MarkedQueue> queues;
    pg::with_transaction([&] {
        pg::as_extension_owner([&] {
            for (const pg::Row row : select_marked_queues.run())
                queues.push_back(select_marked_queues.read(row));
        });
    });
    return queues;
}

// A view or foreign key that was created on the tables of a queue after it was marked prevents the
// drop: raise a WARNING once per pass, and continue with the other queues.
bool drop_marked_queue(const MarkedQueue &queue, Patience &patience)
{
    std::string problem;
    try {
        return detach(queue, patience) && drop_detached(queue, patience);
    } catch (const pg::Error &error) {
        if (error.sqlerrcode() != ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST)
            throw;
        problem = error.detail().value_or(error.message());
    }
    pg::call([&] {
        ereport(
            WARNING, errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
            errmsg("cannot drop table \"%s\" of a dropped queue because other objects depend on it",
                   queue.table.c_str()),
            errdetail_internal("%s", problem.c_str()));
    });
    return false;
}

std::int64_t prune_dead_letters(int limit)
{
    static constinit pg::Statement delete_dead_letters(R"(
        WITH due AS MATERIALIZED (
            SELECT oldest.queue_id, oldest.job_id
            FROM hipq.queue AS queue
            CROSS JOIN LATERAL (
                SELECT letter.queue_id, letter.job_id
                FROM hipq.dead_letter AS letter
                WHERE letter.queue_id = queue.queue_id
                  AND letter.died_time <= $1 - coalesce(queue.dead_letter_retention, make_interval(secs => $2))
                ORDER BY letter.died_time
                LIMIT $3
                FOR UPDATE SKIP LOCKED
            ) AS oldest
            LIMIT $3
        )
        DELETE FROM hipq.dead_letter AS letter
        USING due
        WHERE letter.queue_id = due.queue_id AND letter.job_id = due.job_id)");
    std::int64_t removed = 0;
    pg::as_hipq([&] {
        removed = static_cast<std::int64_t>(
            delete_dead_letters.run(pg::now(), settings::dead_letter_retention.seconds, limit)
                .processed());
    });
    return removed;
}

}  // namespace hipq::tables
