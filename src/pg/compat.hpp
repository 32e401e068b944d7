// What PostgreSQL's versions say in different words: 15 to 18 by one name each.
//
// All of it is for the PostgreSQL regime, but for what reads a number of this process.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "access/tableam.h"
#include "commands/vacuum.h"
#include "pgstat.h"
#include "replication/message.h"
#include "storage/bufmgr.h"
#include "storage/lock.h"
#include "storage/sinvaladt.h"
#include "utils/guc_tables.h"
}

namespace hipq::pg {

// ---- processes ----

// The place of a process in ProcGlobal->allProcs.
inline int number_of(const PGPROC *process)
{
#if PG_VERSION_NUM >= 170000
    return static_cast<int>(GetNumberFromPGProc(process));
#else
    return process->pgprocno;
#endif
}

inline int own_number()
{
    return number_of(MyProc);
}

// Of this process's transaction, prepared or not: another one each time.
inline LocalTransactionId own_local_transaction()
{
#if PG_VERSION_NUM >= 170000
    return MyProc->vxid.lxid;
#else
    return MyProc->lxid;
#endif
}

// Of a prepared transaction there is none.
inline bool has_process(const VirtualTransactionId &transaction)
{
    return !VirtualTransactionIdIsRecoveredPreparedXact(transaction);
}

// Null: it has ended.
inline const PGPROC *process_of(const VirtualTransactionId &transaction)
{
#if PG_VERSION_NUM >= 170000
    return ::ProcNumberGetProc(transaction.procNumber);
#else
    return ::BackendIdGetProc(transaction.backendId);
#endif
}

// ---- locks and WAL ----

inline bool holds_lock(const LOCKTAG &tag, LOCKMODE mode)
{
#if PG_VERSION_NUM >= 170000
    return ::LockHeldByMe(&tag, mode, false);
#else
    return ::LockHeldByMe(&tag, mode);
#endif
}

// Not flushed, and not of a transaction.
inline XLogRecPtr log_message(const char *prefix, const char *text, Size size)
{
#if PG_VERSION_NUM >= 170000
    return ::LogLogicalMessage(prefix, text, size, false, false);
#else
    return ::LogLogicalMessage(prefix, text, size, false);
#endif
}

// ---- settings ----

struct AllSettings {
    config_generic **list;
    std::size_t count;
};

inline AllSettings all_settings()
{
#if PG_VERSION_NUM >= 160000
    int count = 0;
    config_generic **list = ::get_guc_variables(&count);
    return {list, static_cast<std::size_t>(count)};
#else
    return {::get_guc_variables(), static_cast<std::size_t>(::GetNumConfigOptions())};
#endif
}

// ---- rights ----

inline bool has_right(Oid catalogue, Oid object, Oid role, AclMode mode)
{
#if PG_VERSION_NUM >= 160000
    return ::object_aclcheck(catalogue, object, role, mode) == ACLCHECK_OK;
#else
    switch (catalogue) {
    case ProcedureRelationId:
        return ::pg_proc_aclcheck(object, role, mode) == ACLCHECK_OK;
    case NamespaceRelationId:
        return ::pg_namespace_aclcheck(object, role, mode) == ACLCHECK_OK;
    case DatabaseRelationId:
        return ::pg_database_aclcheck(object, role, mode) == ACLCHECK_OK;
    default:
        elog(ERROR, "no rights on objects of catalogue %u are asked for", catalogue);
    }
#endif
}

inline bool owns(Oid catalogue, Oid object, Oid role)
{
#if PG_VERSION_NUM >= 160000
    return ::object_ownercheck(catalogue, object, role);
#else
    switch (catalogue) {
    case DatabaseRelationId:
        return ::pg_database_ownercheck(object, role);
    case ExtensionRelationId:
        return ::pg_extension_ownercheck(object, role);
    default:
        elog(ERROR, "no owners of objects of catalogue %u are asked for", catalogue);
    }
#endif
}

// ---- names ----

inline List *split_name(const char *name)
{
#if PG_VERSION_NUM >= 160000
    return ::stringToQualifiedNameList(name, nullptr);
#else
    return ::stringToQualifiedNameList(name);
#endif
}

// ---- rows ----

// InvalidOid: it has none. One that is checked at the end of the transaction only does not count.
inline Oid primary_key_of(Relation table)
{
#if PG_VERSION_NUM >= 180000
    return ::RelationGetPrimaryKeyIndex(table, false);
#else
    return ::RelationGetPrimaryKeyIndex(table);
#endif
}

// Of the active snapshot, with so many keys, which index_rescan() is given.
inline IndexScanDesc begin_index_scan(Relation table, Relation index, int keys)
{
#if PG_VERSION_NUM >= 180000
    return ::index_beginscan(table, index, ::GetActiveSnapshot(), nullptr, keys, 0);
#else
    return ::index_beginscan(table, index, ::GetActiveSnapshot(), keys, 0);
#endif
}

// Of the places in an index alone, whatever its table has there.
inline IndexScanDesc begin_bitmap_scan(Relation index, int keys)
{
#if PG_VERSION_NUM >= 180000
    return ::index_beginscan_bitmap(index, ::GetActiveSnapshot(), nullptr, keys);
#else
    return ::index_beginscan_bitmap(index, ::GetActiveSnapshot(), keys);
#endif
}

// Of a new row, whose target says what unique indexes there are. False: an entry is in its way.
inline bool fits_unique_indexes(ResultRelInfo *target, TupleTableSlot *row, EState *executor)
{
    ItemPointerData in_the_way;
#if PG_VERSION_NUM >= 180000
    ItemPointerData itself;
    ::ItemPointerSetInvalid(&itself);
    return ::ExecCheckIndexConstraints(target, row, executor, &in_the_way, &itself, NIL);
#else
    return ::ExecCheckIndexConstraints(target, row, executor, &in_the_way, NIL);
#endif
}

// Which indexes a row that was changed needs entries in.
#if PG_VERSION_NUM >= 160000
using IndexesToUpdate = TU_UpdateIndexes;
inline constexpr IndexesToUpdate no_indexes = TU_None;
inline bool only_summarizing(IndexesToUpdate indexes)
{
    return indexes == TU_Summarizing;
}
#else
using IndexesToUpdate = bool;
inline constexpr IndexesToUpdate no_indexes = false;
inline bool only_summarizing(IndexesToUpdate)
{
    return false;
}
#endif

// Of a new row. `is_taken`: a unique index has such an entry already; null: that is an error.
inline void insert_index_entries(ResultRelInfo *target, TupleTableSlot *row, EState *executor,
                                 bool *is_taken)
{
#if PG_VERSION_NUM >= 160000
    (void)::ExecInsertIndexTuples(target, row, executor, false, is_taken != nullptr, is_taken, NIL,
                                  false);
#else
    (void)::ExecInsertIndexTuples(target, row, executor, false, is_taken != nullptr, is_taken, NIL);
#endif
}

// Of a row that was changed.
inline void update_index_entries(ResultRelInfo *target, TupleTableSlot *row, EState *executor,
                                 IndexesToUpdate indexes)
{
#if PG_VERSION_NUM >= 160000
    (void)::ExecInsertIndexTuples(target, row, executor, true, false, nullptr, NIL,
                                  only_summarizing(indexes));
#else
    (void)indexes;
    (void)::ExecInsertIndexTuples(target, row, executor, true, false, nullptr, NIL);
#endif
}

// ---- statements ----

// All of a statement, to its end.
inline void run_portal(Portal portal, DestReceiver *receiver, QueryCompletion *completion)
{
#if PG_VERSION_NUM >= 180000
    (void)::PortalRun(portal, FETCH_ALL, true, receiver, receiver, completion);
#else
    (void)::PortalRun(portal, FETCH_ALL, true, true, receiver, receiver, completion);
#endif
}

// ---- vacuum and statistics ----

inline PgStat_Counter live_tuples(const PgStat_StatTabEntry &statistics)
{
#if PG_VERSION_NUM >= 160000
    return statistics.live_tuples;
#else
    return statistics.n_live_tuples;
#endif
}

inline PgStat_Counter dead_tuples(const PgStat_StatTabEntry &statistics)
{
#if PG_VERSION_NUM >= 160000
    return statistics.dead_tuples;
#else
    return statistics.n_dead_tuples;
#endif
}

// Rows of a table as they are counted since it was vacuumed or analyzed. Nothing: it was not, since
// it was made or the server has crashed, so that older rows may be missing in the number.
inline std::optional<std::int64_t> counted_rows(Oid table)
{
    const PgStat_StatTabEntry *statistics = ::pgstat_fetch_stat_tabentry(table);
    if (statistics == nullptr)
        return std::nullopt;
#if PG_VERSION_NUM >= 160000
    const bool is_known =
        statistics->last_vacuum_time != 0 || statistics->last_autovacuum_time != 0 ||
        statistics->last_analyze_time != 0 || statistics->last_autoanalyze_time != 0;
#else
    const bool is_known =
        statistics->vacuum_timestamp != 0 || statistics->autovac_vacuum_timestamp != 0 ||
        statistics->analyze_timestamp != 0 || statistics->autovac_analyze_timestamp != 0;
#endif
    return is_known ? std::optional(std::max<std::int64_t>(0, live_tuples(*statistics)))
                    : std::nullopt;
}

// Without it a vacuum leaves the table itself out, from PostgreSQL 16 on.
#if PG_VERSION_NUM >= 160000
inline constexpr bits32 vacuum_main = VACOPT_PROCESS_MAIN;
#else
inline constexpr bits32 vacuum_main = 0;
#endif

// `memory` outlives the transactions that a vacuum begins and ends. The ring keeps it from filling
// shared buffers with what it reads; up to 15 vacuum() makes one itself.
inline void run_vacuum(List *relations, VacuumParams &parameters, MemoryContext memory)
{
#if PG_VERSION_NUM >= 160000
    MemoryContext before = ::MemoryContextSwitchTo(memory);
    BufferAccessStrategy ring = ::GetAccessStrategyWithSize(BAS_VACUUM, VacuumBufferUsageLimit);
    ::MemoryContextSwitchTo(before);
    ::vacuum(relations, &parameters, ring, memory, true);
#else
    (void)memory;
    ::vacuum(relations, &parameters, nullptr, true);
#endif
}

}  // namespace hipq::pg
