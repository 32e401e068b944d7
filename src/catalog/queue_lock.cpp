// Locks the tables of a queue without waiting, and reports who holds locks on them.
//
// Uses conditional locks of PostgreSQL's lock manager; the holders come from pg_locks.
#include "catalog/queue_lock.hpp"

#include "catalog/lock_holder_sql.hpp"
#include "pg/known_table.hpp"
#include "pg/transaction.hpp"

extern "C" {
#include "storage/lmgr.h"
}

namespace hipq::catalog {

namespace {

// Finds the tables of the queue even if they are locked; pg_partition_tree() would wait for the
// locks.
constinit pg::Statement select_holders(R"(
    WITH RECURSIVE part AS (
        SELECT relation.oid
        FROM pg_class AS relation
        WHERE relation.relnamespace = 'hipq'::regnamespace AND relation.relname = $1
        UNION ALL
        SELECT pg_inherits.inhrelid
        FROM part
        JOIN pg_inherits ON pg_inherits.inhparent = part.oid
    ),
    place AS (
        SELECT part.oid FROM part
        UNION ALL
        SELECT pg_index.indexrelid FROM part JOIN pg_index ON pg_index.indrelid = part.oid
    ),
    holder AS (
        SELECT DISTINCT ON (held.pid, held.virtualtransaction) held.pid, held.virtualtransaction, held.mode, relation.relname
        FROM place
        JOIN pg_locks AS held ON held.relation = place.oid
        JOIN pg_class AS relation ON relation.oid = place.oid
        WHERE held.locktype = 'relation' AND held.granted AND held.pid IS DISTINCT FROM pg_backend_pid()
          AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND held.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
        ORDER BY held.pid, held.virtualtransaction, length(relation.relname)
    )
    SELECT string_agg()" HIPQ_LOCK_HOLDER(
    "holder") R"( || ' holds ' || holder.mode || ' on hipq.' || quote_ident(holder.relname), '; ' ORDER BY holder.pid)
    FROM holder)");

// Returns true for a table that does not exist, since no lock is in the way. Call inside pg::call()
// only.
bool try_to_lock(const std::string &table, LOCKMODE mode)
{
    const pg::KnownTable *known = pg::known_table(table.c_str());
    return known == nullptr || ::ConditionalLockRelationOid(known->oid, mode);
}

}  // namespace

void lock_or_raise(const Queue &queue)
{
    const std::string live = queue.live_table();
    if (pg::call([&] {
            return try_to_lock(queue.table, RowExclusiveLock) &&
                   try_to_lock(live, RowExclusiveLock);
        }))
        return;
    const std::string name = queue.full_name();
    HIPQ_RAISE(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
               errmsg("the tables of queue \"%s\" are locked", name.c_str()));
}

bool try_to_lock(const Queue &queue, LOCKMODE mode)
{
    const std::string live = queue.live_table();
    return pg::call([&] { return try_to_lock(live, mode); });
}

std::string lock_holders(const Queue &queue)
{
    return pg::as_extension_owner([&] { return select_holders.run(queue.table).front().text(0); });
}

}  // namespace hipq::catalog
