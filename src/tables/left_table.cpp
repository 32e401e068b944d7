// Adopts tables of queues that exist without their queues.
//
// `pg_dump -s` dumps the tables, which belong to users, but not the rows of hipq.queue, which are
// data. Only empty tables are adopted: ids of jobs are unique in a database, and jobs without their
// queue and its types come from an incomplete dump.
#include "tables/left_table.hpp"

#include "core/text/names.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"
#include "tables/make_leaf.hpp"
#include "tables/queue_table.hpp"

extern "C" {
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/partcache.h"
}

namespace hipq::tables {

namespace {

constinit pg::Statement select_left_table(R"(
    SELECT 1
    FROM pg_class AS relation
    JOIN pg_partitioned_table AS parted ON parted.partrelid = relation.oid
    WHERE relation.relnamespace = 'hipq'::regnamespace AND relation.relname = $1
      AND pg_get_partkeydef(relation.oid) = 'LIST (state)'
      AND NOT EXISTS (SELECT FROM hipq.queue AS queue WHERE queue.table_name = $1))");

// The table's number in hipq.job; NULL: it is not attached.
constinit pg::Statement select_number(R"(
    SELECT substring(pg_get_expr(relation.relpartbound, relation.oid) from 'IN \((\d+)\)')::integer
    FROM pg_class AS relation
    WHERE relation.relnamespace = 'hipq'::regnamespace AND relation.relname = $1)");

constinit pg::Statement select_next_number("SELECT nextval('hipq.queue_id_seq')::integer");

// The first reason, as a sentence, why table $1 cannot be the table of a queue. $2: the owner of
// the extension; $3, $4, $5: the required names of the live leaf, the final tree and the index over
// keys; $6: columns of that index.
constinit pg::Statement select_difference(R"(
    WITH tree AS (
        SELECT relation.oid, relation.relname::text AS name, relation.relkind, relation.relrowsecurity, relation.relhasrules,
               relation.relowner, parent.relname::text AS parent, pg_get_expr(relation.relpartbound, relation.oid) AS bound
        FROM pg_partition_tree(format('hipq.%I', $1)::regclass) AS part
        JOIN pg_class AS relation ON relation.oid = part.relid
        LEFT JOIN pg_class AS parent ON parent.oid = part.parentrelid
    ), needed_part (name, parent, bound) AS (
        VALUES ($3, $1, 'FOR VALUES IN (NULL, ''initial'', ''running'', ''error'', ''retry'')'),
               ($4, $1, 'FOR VALUES IN (''final'')'),
               ($4 || '_default', $4, 'DEFAULT')
    ), needed_index (definition) AS (
        VALUES (format('CREATE UNIQUE INDEX %1$s_pkey ON hipq.%1$s USING btree (id)', $3)),
               (format('CREATE UNIQUE INDEX %s ON hipq.%s USING btree %s WHERE (job_key <> ''NONE''::text)', $5, $3, $6)),
               (format('CREATE INDEX %1$s_line ON hipq.%1$s USING btree (job_type, priority, scheduled_run_time, id) '
                       'WHERE (waits_for IS NULL)', $3)),
               (format('CREATE INDEX %1$s_held ON hipq.%1$s USING btree (job_type, id) WHERE (waits_for IS NOT NULL)', $3)),
               (format('CREATE INDEX %1$s_batch ON hipq.%1$s USING btree (batch_id, id) WHERE (batch_id IS NOT NULL)', $3)),
               (format('CREATE INDEX %1$s_expiry ON hipq.%1$s USING btree (expires_time) '
                       'WHERE (expires_time < %2$L::timestamp with time zone)', $3, '9999-01-01 00:00:00+00'::timestamptz))
        UNION ALL
        SELECT format(definition, name)
        FROM tree
        CROSS JOIN (VALUES ('CREATE UNIQUE INDEX %1$s_id ON hipq.%1$s USING btree (id)'),
                           ('CREATE INDEX %1$s_key ON hipq.%1$s USING btree (job_type, job_key) WHERE (job_key <> ''NONE''::text)')
             ) AS of_leaf (definition)
        WHERE name LIKE '%\_final\_%'
    ), difference (step, text) AS (
        SELECT 1, format('Table "hipq.%s" belongs to role "%s", not to the owner of the extension.', name, pg_get_userbyid(relowner))
        FROM tree
        WHERE relowner <> $2
        UNION ALL
        SELECT 2, format('It has no partition "%s" %s.', name, bound)
        FROM (SELECT name, parent, bound FROM needed_part EXCEPT SELECT name, parent, bound FROM tree) AS missing
        UNION ALL
        SELECT 3, format('It has a partition "%s".', name)
        FROM tree
        WHERE name NOT IN ($1, $3, $4)
          AND (parent <> $4 OR relkind <> 'r' OR name !~ '_final_(default|p[0-9_]+)$')
        UNION ALL
        SELECT 4, format('Table "hipq.%s" is not partitioned by range of update_time.', name)
        FROM tree
        WHERE name = $4 AND (relkind <> 'p' OR pg_get_partkeydef(oid) <> 'RANGE (update_time)')
        UNION ALL
        SELECT 5, format('Table "hipq.%s" has row security or rules.', name)
        FROM tree
        WHERE relrowsecurity OR relhasrules
        UNION ALL
        SELECT 6, format('Table "hipq.%s" has trigger "%s".', name, tgname)
        FROM tree
        JOIN pg_trigger ON tgrelid = tree.oid
        WHERE NOT tgisinternal AND tgfoid <> 'hipq._guard_job()'::regprocedure
        UNION ALL
        SELECT 7, 'It lacks an index: ' || definition || '.'
        FROM needed_index
        WHERE definition NOT IN (SELECT pg_get_indexdef(indexrelid) FROM tree JOIN pg_index ON indrelid = oid WHERE indisvalid)
    )
    SELECT text
    FROM difference
    ORDER BY step, text
    LIMIT 1)");

// Whether hipq.job has a partition for the number.
bool has_partition(int queue_id)
{
    const Oid job = relation_oid("job");
    return pg::call([&] {
        Relation relation = ::table_open(job, AccessShareLock);
        PartitionKey key = ::RelationGetPartitionKey(relation);
        PartitionDesc parts = ::RelationGetPartitionDesc(relation, false);
        bool is_equal = false;
        if (parts->nparts > 0)
            (void)::partition_list_bsearch(key->partsupfunc, key->partcollation, parts->boundinfo,
                                           Int32GetDatum(queue_id), &is_equal);
        ::table_close(relation, NoLock);
        return is_equal;
    });
}

int next_free_number()
{
    for (;;) {
        const int number = select_next_number.run().front().integer32(0);
        if (!has_partition(number))
            return number;
    }
}

[[noreturn]] void refuse(const std::string &table, const std::string &difference)
{
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("table \"hipq.%s\" cannot become the table of a queue", table.c_str()),
               errdetail("%s", difference.c_str()),
               errhint("Mend that, or drop the table: create_queue() makes a new one then."));
}

void demand_empty(const std::string &table)
{
    if (!pg::run_once("SELECT EXISTS (SELECT FROM " + pg::quote_table(table) + ")")
             .front()
             .boolean(0))
        return;
    HIPQ_RAISE(
        errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
        errmsg("table \"hipq.%s\" has jobs, but no queue", table.c_str()),
        errdetail("Its rows came without those of hipq.queue and hipq.job_type, as from "
                  "pg_dump -n or -t."),
        errhint("Run TRUNCATE hipq.%s, or restore a dump of the whole database.", table.c_str()));
}

std::optional<std::int64_t> number_of(std::string_view table)
{
    const pg::Rows rows = select_number.run(table);
    return rows.empty() ? std::nullopt : rows.front().maybe_integer(0);
}

void adopt(int queue_id, const std::string &table, core::UniqueScope scope)
{
    for (const pg::Row row : select_difference.run(
             table, pg::extension_owner(), core::live_leaf_name(table),
             core::final_tree_name(table), core::key_index_name(table), key_index_columns(scope)))
        refuse(table, row.text(0));
    demand_empty(table);
    if (!number_of(table).has_value())
        attach_queue_table(queue_id, table);
}

}  // namespace

bool is_left_table(std::string_view table)
{
    return pg::as_hipq([&] { return !select_left_table.run_latest(table).empty(); });
}

int choose_queue_id(std::string_view table)
{
    if (const auto number = number_of(table))
        return static_cast<int>(*number);
    return next_free_number();
}

void create_or_adopt_queue_table(int queue_id, std::string_view table, core::UniqueScope scope)
{
    const std::string name(table);
    if (OidIsValid(relation_oid(name)))
        adopt(queue_id, name, scope);
    else
        create_queue_table(queue_id, name, scope);
}

}  // namespace hipq::tables
