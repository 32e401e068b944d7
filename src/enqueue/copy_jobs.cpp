// Runs an ordinary COPY into a queue's table without the guard trigger.
//
// PostgreSQL reads the rows; the rules are those of the guard trigger; the rows are written as in
// enqueue_many().
//
// Every other COPY is left to PostgreSQL before anything is done: with column privileges, policies,
// WHERE, FREEZE, programs, other libraries' hooks or hipq's own columns, and everything that
// NewRows leaves to SQL.
#include "enqueue/enqueue.hpp"

#include "catalog/cache.hpp"
#include "enqueue/job_writer.hpp"

extern "C" {
#include "commands/copy.h"
#include "commands/progress.h"
#include "parser/parse_node.h"
#include "utils/backend_progress.h"
#include "utils/rls.h"
}

namespace hipq::enqueue {

namespace {

using core::Column;
using job::RowValues;

// ---- is it an ordinary COPY of new jobs? ----

bool is_chosen(std::string_view column)
{
    const auto found = core::find_column(column);
    return found.has_value() && core::kind(*found) != core::ColumnKind::bookkeeping;
}

// Without id and similar columns, no row can come from a restore.
bool has_chosen_columns_only(const List *columns)
{
    for (int i = 0; i < list_length(columns); ++i)
        if (!is_chosen(strVal(list_nth(columns, i))))
            return false;
    return columns != NIL;
}

bool freezes(const List *options)
{
    for (int i = 0; i < list_length(options); ++i)
        if (std::strcmp(static_cast<const DefElem *>(list_nth(options, i))->defname, "freeze") == 0)
            return true;
    return false;
}

bool is_ordinary(const CopyStmt &statement)
{
    return statement.is_from && statement.relation != nullptr && !statement.is_program &&
           statement.whereClause == nullptr && has_chosen_columns_only(statement.attlist) &&
           !freezes(statement.options) && ExecutorCheckPerms_hook == nullptr && !XactReadOnly &&
           !IsInParallelMode();
}

bool may_copy(Oid table, const CopyStmt &statement)
{
    return pg::call([&] {
        const Oid user = ::GetUserId();
        return ::pg_class_aclcheck(table, user, ACL_INSERT) == ACLCHECK_OK &&
               ::check_enable_rls(table, InvalidOid, true) != RLS_ENABLED &&
               (statement.filename == nullptr ||
                ::has_privs_of_role(user, ROLE_PG_READ_SERVER_FILES));
    });
}

// Returns the queue whose table this is, or null.
const catalog::Queue *queue_of(const catalog::Catalogue &catalogue, Oid table)
{
    const char *name = pg::call([&] { return ::get_rel_name(table); });
    for (const auto &[id, queue] : catalogue.queues)
        if (name != nullptr && queue.table == name && !queue.is_dropped)
            return &queue;
    return nullptr;
}

// InvalidOid: there is no such partitioned table in schema hipq.
Oid find_table(const RangeVar &name)
{
    return pg::call([&] {
        const Oid table = ::RangeVarGetRelid(&name, NoLock, true);
        const bool is_ours = OidIsValid(table) &&
                             ::get_rel_relkind(table) == RELKIND_PARTITIONED_TABLE &&
                             ::get_rel_namespace(table) == ::get_namespace_oid("hipq", true);
        return is_ours ? table : InvalidOid;
    });
}

// ---- reading ----

// PostgreSQL's reader of a COPY, and where it stores the values.
class Reader {
public:
    Reader(Oid table, const CopyStmt &statement, const char *source)
    {
        pg::call([&] {
            table_ = ::table_open(table, RowExclusiveLock);
            ParseState *parse = ::make_parsestate(nullptr);
            parse->p_sourcetext = source;
            copy_ = ::BeginCopyFrom(parse, table_, nullptr, statement.filename, false, nullptr,
                                    statement.attlist, statement.options);
            executor_ = ::CreateExecutorState();
            context_ = GetPerTupleExprContext(executor_);
            values_ = static_cast<Datum *>(
                ::palloc(static_cast<Size>(RelationGetDescr(table_)->natts) * sizeof(Datum)));
            nulls_ = static_cast<bool *>(
                ::palloc(static_cast<Size>(RelationGetDescr(table_)->natts) * sizeof(bool)));
        });
        map_ = job::column_map(table_);
        place_ = {error_context_stack, ::CopyFromErrorCallback, copy_};
        error_context_stack = &place_;  // reports the line of an error
    }
    ~Reader() { error_context_stack = place_.previous; }
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;

    MemoryContext memory() const { return context_->ecxt_per_tuple_memory; }

    // Returns the next row, in memory(), with the columns that users may choose; nothing at the
    // end.
    std::optional<RowValues> next()
    {
        const bool is_there = pg::call([&] {
            CHECK_FOR_INTERRUPTS();
            MemoryContext before = ::MemoryContextSwitchTo(memory());
            const bool found = ::NextCopyFrom(copy_, context_, values_, nulls_);
            ::MemoryContextSwitchTo(before);
            return found;
        });
        return is_there ? std::optional(chosen_row(map_, values_, nulls_)) : std::nullopt;
    }

    void forget_rows()
    {
        pg::call([&] { ResetExprContext(context_); });
    }

    void close()
    {
        pg::call([&] {
            ::EndCopyFrom(copy_);
            ::FreeExecutorState(executor_);
            ::table_close(table_, NoLock);
        });
    }

private:
    Relation table_;
    CopyFromState copy_;
    EState *executor_;
    ExprContext *context_;
    Datum *values_;
    bool *nulls_;
    job::ColumnMap map_;
    ErrorContextCallback place_;
};

// ---- copying ----

void copy_all(Reader &reader, JobWriter &writer)
{
    MemoryContext before = ::MemoryContextSwitchTo(reader.memory());
    while (const auto job = reader.next()) {
        writer.write(*job);
        if (!writer.is_full(reader.memory()))
            continue;
        writer.write_pending();
        reader.forget_rows();
        writer.look_at_catalogue();
        ::pgstat_progress_update_param(PROGRESS_COPY_TUPLES_PROCESSED,
                                       static_cast<std::int64_t>(writer.count()));
    }
    writer.write_pending();
    ::MemoryContextSwitchTo(before);
}

}  // namespace

bool copy_jobs(const CopyStmt &statement, const char *source, QueryCompletion *completion)
{
    if (!is_ordinary(statement))
        return false;
    const Oid table = find_table(*statement.relation);
    const KnownCatalogue catalogue = OidIsValid(table) ? catalog::catalogue() : nullptr;
    const catalog::Queue *queue = catalogue == nullptr ? nullptr : queue_of(*catalogue, table);
    auto rows = queue == nullptr ? std::nullopt : NewRows::open(*queue, NewRows::With::no_keys);
    if (!rows.has_value())
        return false;
    if (!may_copy(table, statement)) {
        rows->close();
        return false;
    }
    JobWriter writer(*rows, queue->id);
    Reader reader(table, statement, source);
    copy_all(reader, writer);
    reader.close();
    writer.close();
    if (completion != nullptr)
        SetQueryCompletion(completion, CMDTAG_COPY, writer.count());
    return true;
}

}  // namespace hipq::enqueue
