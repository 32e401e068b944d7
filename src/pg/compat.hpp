// Gives one name to everything that PostgreSQL 15 to 19 spell differently.
//
// Call inside pg::call() only, except for functions that only read a number of this process.
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
#include "storage/smgr.h"
#include "utils/guc_tables.h"
}

namespace hipq::pg {

// ---- processes ----

// The index of a process in ProcGlobal->allProcs.
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

// hipq's processes leave a database for a command that needs it for itself (stand_aside.hpp). From
// PostgreSQL 19 on, the server ends processes that were started meanwhile.
inline constexpr int worker_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION
#if PG_VERSION_NUM >= 190000
                                    | BGWORKER_INTERRUPTIBLE
#endif
    ;

// The local transaction id of this process, prepared or not: different for each transaction.
inline LocalTransactionId own_local_transaction()
{
#if PG_VERSION_NUM >= 170000
    return MyProc->vxid.lxid;
#else
    return MyProc->lxid;
#endif
}

// A prepared transaction has no process.
inline bool has_process(const VirtualTransactionId &transaction)
{
    return !VirtualTransactionIdIsRecoveredPreparedXact(transaction);
}

// Null: the process has ended.
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

// Neither flushed nor transactional.
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

// log_min_messages for processes of this kind; hipq changes it for a time.
inline int &own_log_level()
{
#if PG_VERSION_NUM >= 190000
    return log_min_messages[MyBackendType];
#else
    return log_min_messages;
#endif
}

// ---- privileges ----

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

// All functions of that name that the search path finds.
inline FuncCandidateList functions_of_name(List *names)
{
#if PG_VERSION_NUM >= 190000
    int why_not = 0;
    return ::FuncnameGetCandidates(names, -1, NIL, false, false, false, true, &why_not);
#else
    return ::FuncnameGetCandidates(names, -1, NIL, false, false, false, true);
#endif
}

// ---- caches ----

// Of a system cache whose invalidations are watched.
#if PG_VERSION_NUM >= 190000
using CacheId = SysCacheIdentifier;
#else
using CacheId = int;
#endif

// ---- jsonb ----

// A jsonb value that is built from its parts. `result` is complete after the last part.
#if PG_VERSION_NUM >= 190000
using JsonbBuilder = JsonbInState;
#else
struct JsonbBuilder {
    JsonbValue *result = nullptr;
    JsonbParseState *state = nullptr;
};
#endif

inline void push_jsonb(JsonbBuilder &built, JsonbIteratorToken token, JsonbValue *value = nullptr)
{
#if PG_VERSION_NUM >= 190000
    ::pushJsonbValue(&built, token, value);
#else
    built.result = ::pushJsonbValue(&built.state, token, value);
#endif
}

// ---- rows ----

// InvalidOid: there is none. A deferrable primary key does not count.
inline Oid primary_key_of(Relation table)
{
#if PG_VERSION_NUM >= 180000
    return ::RelationGetPrimaryKeyIndex(table, false);
#else
    return ::RelationGetPrimaryKeyIndex(table);
#endif
}

// Uses the active snapshot; index_rescan() gets that many keys.
inline IndexScanDesc begin_index_scan(Relation table, Relation index, int keys)
{
#if PG_VERSION_NUM >= 190000
    return ::index_beginscan(table, index, ::GetActiveSnapshot(), nullptr, keys, 0, SO_NONE);
#elif PG_VERSION_NUM >= 180000
    return ::index_beginscan(table, index, ::GetActiveSnapshot(), nullptr, keys, 0);
#else
    return ::index_beginscan(table, index, ::GetActiveSnapshot(), keys, 0);
#endif
}

// Scans the entries of the index alone, whatever its table has at these positions.
inline IndexScanDesc begin_bitmap_scan(Relation index, int keys)
{
#if PG_VERSION_NUM >= 180000
    return ::index_beginscan_bitmap(index, ::GetActiveSnapshot(), nullptr, keys);
#else
    return ::index_beginscan_bitmap(index, ::GetActiveSnapshot(), keys);
#endif
}

// Whether RETURNING reads a column of the table, and neither a system column nor OLD or NEW.
inline bool is_plain_column(const Var &column)
{
#if PG_VERSION_NUM >= 180000
    if (column.varreturningtype != VAR_RETURNING_DEFAULT)
        return false;
#endif
    return column.varattno >= 0;
}

// The pages of a relation whose file is not mapped, without opening it.
inline BlockNumber count_blocks(const FormData_pg_class &form)
{
    const Oid space = OidIsValid(form.reltablespace) ? form.reltablespace : MyDatabaseTableSpace;
#if PG_VERSION_NUM >= 170000
    const ProcNumber owner = INVALID_PROC_NUMBER;
#else
    const BackendId owner = InvalidBackendId;
#endif
    return ::smgrnblocks(::smgropen({space, MyDatabaseId, form.relfilenode}, owner), MAIN_FORKNUM);
}

// For a new row; the target knows the unique indexes. False: a conflicting entry exists.
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

// Which indexes need new entries for an updated row.
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

// Changes the row at a place; waits for another transaction that is changing it. `indexes`: which
// ones need new entries.
inline TM_Result update_row(Relation table, ItemPointer place, TupleTableSlot *changed,
                            IndexesToUpdate &indexes)
{
    TM_FailureData failure{};
    LockTupleMode mode{};
#if PG_VERSION_NUM >= 190000
    return ::table_tuple_update(table, place, changed, ::GetCurrentCommandId(true), 0,
                                ::GetActiveSnapshot(), InvalidSnapshot, true, &failure, &mode,
                                &indexes);
#else
    return ::table_tuple_update(table, place, changed, ::GetCurrentCommandId(true),
                                ::GetActiveSnapshot(), InvalidSnapshot, true, &failure, &mode,
                                &indexes);
#endif
}

inline TM_Result delete_row(Relation table, ItemPointer place, bool waits)
{
    TM_FailureData failure{};
#if PG_VERSION_NUM >= 190000
    return ::table_tuple_delete(table, place, ::GetCurrentCommandId(true), 0, ::GetActiveSnapshot(),
                                InvalidSnapshot, waits, &failure);
#else
    return ::table_tuple_delete(table, place, ::GetCurrentCommandId(true), ::GetActiveSnapshot(),
                                InvalidSnapshot, waits, &failure, false);
#endif
}

// For a new row. `is_taken`: a unique index already has an equal entry; null: that is an error.
inline void insert_index_entries(ResultRelInfo *target, TupleTableSlot *row, EState *executor,
                                 bool *is_taken)
{
#if PG_VERSION_NUM >= 190000
    (void)::ExecInsertIndexTuples(target, executor, is_taken == nullptr ? 0 : EIIT_NO_DUPE_ERROR,
                                  row, NIL, is_taken);
#elif PG_VERSION_NUM >= 160000
    (void)::ExecInsertIndexTuples(target, row, executor, false, is_taken != nullptr, is_taken, NIL,
                                  false);
#else
    (void)::ExecInsertIndexTuples(target, row, executor, false, is_taken != nullptr, is_taken, NIL);
#endif
}

// For an updated row.
inline void update_index_entries(ResultRelInfo *target, TupleTableSlot *row, EState *executor,
                                 IndexesToUpdate indexes)
{
#if PG_VERSION_NUM >= 190000
    const uint32 only = only_summarizing(indexes) ? EIIT_ONLY_SUMMARIZING : 0;
    (void)::ExecInsertIndexTuples(target, executor, EIIT_IS_UPDATE | only, row, NIL, nullptr);
#elif PG_VERSION_NUM >= 160000
    (void)::ExecInsertIndexTuples(target, row, executor, true, false, nullptr, NIL,
                                  only_summarizing(indexes));
#else
    (void)indexes;
    (void)::ExecInsertIndexTuples(target, row, executor, true, false, nullptr, NIL);
#endif
}

// ---- statements ----

// Runs a statement to its end.
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

// Returns the number of rows of a table, counted since its last vacuum or analyze. Nothing: there
// was none since the table was created or the server crashed, so older rows may be missing from the
// count.
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

// Without this flag, vacuum skips the table itself from PostgreSQL 16 on.
#if PG_VERSION_NUM >= 160000
inline constexpr uint32 vacuum_main = VACOPT_PROCESS_MAIN;
#else
inline constexpr uint32 vacuum_main = 0;
#endif

// `memory` must outlive the transactions that a vacuum begins and ends. The ring prevents the
// vacuum from filling shared buffers with the pages it reads; up to 15, vacuum() creates one
// itself.
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
