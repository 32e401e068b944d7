// Tells when the first waiting job of a queue expires.
//
// In most queues none ever does. Then the index over expires_time has no page but its first one,
// and there is no need to plan a statement, which takes a millisecond for each queue.
#include "job/finish.hpp"

#include "catalog/queue_statements.hpp"
#include "job/set_aside.hpp"
#include "pg/compat.hpp"
#include "pg/internal_write.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "storage/lmgr.h"
#include "utils/syscache.h"
}

namespace hipq::job {

namespace {

constexpr const char *next_expiry_sql = R"(
    SELECT job.expires_time FROM {live} AS job
    WHERE job.expires_time < '9999-01-01 00:00:00+00' AND job.state IN ('initial', 'retry') AND NOT )" HIPQ_IS_SET_ASIDE
                                        R"(
    ORDER BY job.expires_time
    LIMIT 1)";

// ---- call inside pg::call() only ----

// An invalid index may lack entries.
bool is_valid(Oid index)
{
    HeapTuple tuple = ::SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
    const bool valid =
        HeapTupleIsValid(tuple) && reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple))->indisvalid;
    if (HeapTupleIsValid(tuple))
        ::ReleaseSysCache(tuple);
    return valid;
}

// The first page of a B-tree has no entries. Loads no relation-cache entry.
bool has_first_page_only(Oid index)
{
    HeapTuple tuple = ::SearchSysCache1(RELOID, ObjectIdGetDatum(index));
    if (!HeapTupleIsValid(tuple))
        return false;
    const auto *form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
    const bool is_empty = form->relam == BTREE_AM_OID && pg::count_blocks(*form) == 1;
    ::ReleaseSysCache(tuple);
    return is_empty;
}

// The lock keeps a REINDEX from replacing the file meanwhile.
bool is_empty(const char *index_name)
{
    const Oid index = ::get_relname_relid(index_name, ::get_namespace_oid("hipq", false));
    if (!OidIsValid(index) || !::ConditionalLockRelationOid(index, AccessShareLock))
        return false;
    const bool result = is_valid(index) && has_first_page_only(index);
    ::UnlockRelationOid(index, AccessShareLock);
    return result;
}

}  // namespace

pg::Time next_expiry(const catalog::Queue &queue)
{
    const std::string index = queue.live_table() + "_expiry";
    if (pg::call([&] { return is_empty(index.c_str()); }))
        return pg::infinity;
    const pg::Rows rows =
        pg::as_hipq([&] { return catalog::statement_for(queue, next_expiry_sql).run(); });
    return rows.empty() ? pg::infinity : rows.front().time(0);
}

}  // namespace hipq::job
