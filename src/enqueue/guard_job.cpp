// The guard trigger on hipq.job: completes a new job from its type, reserves state and bookkeeping
// columns for hipq itself, and notes jobs that become claimable.
//
// It collects the facts; the rules are in core/job/row_guard.hpp and enqueue/new_job.hpp. It never
// checks for duplicates: the unique index does.
#include "catalog/cache.hpp"
#include "catalog/queue_hold.hpp"
#include "catalog/unregistered_types.hpp"
#include "core/job/validate.hpp"
#include "enqueue/new_job.hpp"
#include "enqueue/remote_jobs.hpp"
#include "job/batches/batch_joins.hpp"
#include "job/current_job.hpp"
#include "job/fitting_data.hpp"
#include "job/job_row.hpp"
#include "job/note_waiting.hpp"
#include "job/two_phase.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::enqueue {

namespace {

using core::Caller;
using core::Column;
using core::JobState;
using job::JobRow;

// ---- the writer ----

bool is_restorer()
{
    return pg::call([] { return ::superuser(); }) || ::GetUserId() == pg::extension_owner();
}

// Whether a row is as a dump contains it, written by COPY, INSERT or a program that copies rows:
// nothing is left for the trigger to fill in.
bool is_complete(const JobRow &row)
{
    constexpr std::array filled{
        Column::id,          Column::update_time, Column::created_time,    Column::timeout,
        Column::max_retries, Column::priority,    Column::throttle_factor, Column::time_windows};
    return std::none_of(filled.begin(), filled.end(),
                        [&](Column column) { return row.null(column); });
}

Caller caller_of_insert(const JobRow &row)
{
    if (pg::is_permitted())
        return Caller::hipq;
    // A row without id was not replicated: it is a new job, usually from a trigger on a replicated
    // table.
    if (SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA && !row.null(Column::id) &&
        !has_accepted_id(row))
        return Caller::replica;
    if (is_complete(row) && is_restorer())
        return Caller::restore;
    return Caller::user;
}

Caller caller_of_change()
{
    if (pg::is_permitted())
        return Caller::hipq;
    return SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA ? Caller::replica
                                                                      : Caller::user;
}

// ---- refusals ----

std::string name_of(Column column)
{
    return std::string(core::name(column));
}

std::string name_of(JobState state)
{
    return std::string(core::name(state));
}

// How to change a column that users must not write.
const char *way_to_change(Column column)
{
    const auto is_one_of = [&](std::initializer_list<Column> columns) {
        return std::ranges::find(columns, column) != columns.end();
    };
    if (is_one_of({Column::id, Column::original_job_id, Column::retry_of, Column::created_time,
                   Column::update_time}))
        return "It tells where the job comes from. Leave it as it is.";
    if (column == Column::queue_id)
        return "Use hipq.move_jobs().";
    if (column == Column::deadline)
        return "Use hipq.extend_job() to give a running job more time; column \"timeout\" is for "
               "one that waits.";
    if (is_one_of({Column::worker_id, Column::accepted_time}))
        return "External workers take jobs with hipq.claim(), and give them back with "
               "hipq.release().";
    if (is_one_of({Column::error, Column::result}))
        return "Use hipq.complete(), hipq.fail_job() or hipq.cancel() to end the job.";
    return "Use hipq.cancel(), hipq.retry() or hipq.reschedule().";
}

[[noreturn]] void refuse(const core::Refusal &refusal, const JobRow &row)
{
    using Rule = core::Refusal::Rule;
    const std::string column = name_of(refusal.column);
    const std::string state = name_of(row.state());
    const auto id = static_cast<long long>(row.as_int64(Column::id));
    switch (refusal.rule) {
    case Rule::bookkeeping_given:
        HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                   errmsg("column \"%s\" of a new job is set by hipq", column.c_str()),
                   errhint("Leave the column out or give NULL."));
    case Rule::state_changed:
        HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                   errmsg("the state of job %lld is changed by hipq only", id),
                   errhint("Use hipq.cancel(), hipq.retry() or hipq.reschedule()."));
    case Rule::bookkeeping_changed:
        HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                   errmsg("column \"%s\" of job %lld is changed by hipq only", column.c_str(), id),
                   errhint("%s", way_to_change(refusal.column)));
    case Rule::fixed_changed:
        HIPQ_RAISE(
            errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
            errmsg("column \"%s\" of job %lld is fixed when it is enqueued", column.c_str(), id),
            errhint("Use hipq.cancel() and hipq.enqueue()."));
    case Rule::not_waiting:
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("cannot change job %lld in state \"%s\"", id, state.c_str()),
                   errdetail("Only a waiting job (initial or retry) can be changed."));
    case Rule::already_final:
        HIPQ_RAISE(
            errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("cannot change job %lld: it is final", id),
            errhint(
                "Use hipq.retry() to run it again as a new job, or hipq.erase() to remove it."));
    case Rule::illegal_transition:
        HIPQ_RAISE(errcode(ERRCODE_INTERNAL_ERROR),
                   errmsg("job %lld cannot leave state \"%s\" that way", id, state.c_str()));
    case Rule::delete_running:
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("job %lld in state \"%s\" cannot be deleted", id, state.c_str()),
                   errdetail("Its end would be written nevertheless."),
                   errhint("Use hipq.cancel(), and hipq.erase() when it is final."));
    case Rule::delete_refused:
        HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                   errmsg("job %lld cannot be deleted", id),
                   errhint("Use hipq.cancel() for a waiting job, hipq.erase() for a final one."));
    }
    std::abort();
}

// ---- replicas ----

// Whether the row has come by a subscription: then no process here is notified, and its queue is
// held.
bool comes_by_subscription(const JobRow &row)
{
    if (!catalog::applies_subscription())
        return false;
    if (!row.null(Column::queue_id))
        catalog::hold_fed_queue(row.as_int32(Column::queue_id));
    return true;
}

// ---- insert ----

bool is_text(const JobRow &row, Column column, std::string_view expected)
{
    return row.null(column) || row.as_text(column) == expected;
}

// Does not detoast, as this value is never large.
bool is_json_null(Datum value)
{
    const auto *content = reinterpret_cast<const struct varlena *>(DatumGetPointer(value));
    if (VARATT_IS_EXTERNAL(content) || VARATT_IS_COMPRESSED(content))
        return false;
    std::array<std::uint32_t, 2> root{};  // the header and the only entry
    if (VARSIZE_ANY_EXHDR(content) != sizeof(root))
        return false;
    std::memcpy(root.data(), VARDATA_ANY(content), sizeof(root));
    return root[0] == (JB_FARRAY | JB_FSCALAR | 1U) && JBE_ISNULL(root[1]);
}

// The bookkeeping columns whose value is neither NULL nor the start value.
core::ColumnSet given_bookkeeping(const JobRow &row)
{
    core::ColumnSet given;
    const auto note = [&](Column column, bool is_given) {
        given.set(static_cast<std::size_t>(column), is_given);
    };
    for (const Column column : {Column::id, Column::original_job_id, Column::retry_of,
                                Column::worker_id, Column::update_time, Column::created_time,
                                Column::manual_reason, Column::waits_for, Column::schedule_time})
        note(column, !row.null(column));
    if (has_accepted_id(row))
        note(Column::id, false);
    for (const Column column : {Column::accepted_time, Column::deadline})
        note(column, !row.null(column) && row.as_time(column) != pg::infinity);
    for (const Column column : {Column::attempt, Column::retry_count})
        note(column, row.as_int32(column) != 0);
    for (const Column column : {Column::error, Column::retry_reason})
        note(column, !is_text(row, column, core::none_text));
    note(Column::state, row.state() != JobState::initial);
    note(Column::result, !row.null(Column::result) && !is_json_null(row.value(Column::result)));
    return given;
}

const catalog::Queue &queue_of(const catalog::Catalogue &catalogue, const JobRow &row)
{
    if (row.null(Column::queue_id))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("a job needs the number of its queue in column \"queue_id\""),
                   errhint("Insert into the queue's own table and leave queue_id out."));
    const int number = row.as_int32(Column::queue_id);
    const catalog::Queue *queue = catalogue.find(number);
    if (queue == nullptr)
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue %d does not exist", number),
                   errhint("Its table may have come with a dump without data: hipq.create_queue() "
                           "takes it over."));
    return *queue;
}

// hipq itself writes this state when a job is claimed, or leaves `running`.
void note_if_taken(const JobRow &row, Caller caller)
{
    if (caller == Caller::hipq && !core::is_waiting(row.state()))
        job::forbid_two_phase(job::NoTwoPhase::job_taken);
}

void note_restored(core::JobState state)
{
    // The catalogue may be loaded later than its jobs, so the scheduler must look.
    wakeup::note_catalogue_change();
    if (state != core::JobState::running && state != core::JobState::error)
        return;
    wakeup::note_restore();
    job::forbid_two_phase(job::NoTwoPhase::attempt_restored);
}

// Checks a job that hipq makes of another one: retried, redriven.
void check_made_job(const JobRow &row, const catalog::Queue &queue)
{
    catalog::demand_not_held(queue);
    catalog::demand_capacity_for_type(queue, row.as_text(Column::job_type));
    if (!row.null(Column::retry_of))
        check_caps(row, queue, queue.find_job_type(row.as_text(Column::job_type)),
                   core::ColumnSet().set());
}

// In a sharded instance: whether the job belongs to another node, and is on its way there.
bool goes_elsewhere(JobRow &row, const catalog::Queue &queue)
{
    if (queue.shards == nullptr || !row.null(Column::id))
        return false;
    RemoteJobs remote_jobs(queue.id);
    const bool is_taken = remote_jobs.takes(row);
    remote_jobs.send();
    if (is_taken && !row.null(Column::retry_of))
        nodes::note_made_and_sent({row.as_int64(Column::retry_of), row.as_int64(Column::id)});
    return is_taken;
}

HeapTuple guard_insert(Relation relation, HeapTuple tuple)
{
    JobRow row(relation, tuple);
    const Caller caller = caller_of_insert(row);
    if (caller == Caller::replica && comes_by_subscription(row))
        return tuple;
    if (caller == Caller::restore || caller == Caller::replica) {
        job::note_place(RelationGetRelid(relation), row);
        note_restored(row.state());
        if (!row.null(Column::waits_for))
            wakeup::note_unknown_waits();
        return tuple;
    }
    if (const auto refusal = core::check_insert(caller, row.state(), given_bookkeeping(row)))
        refuse(*refusal, row);
    demand_job_type(row);
    const KnownCatalogue catalogue = catalog::catalogue();
    const catalog::Queue &queue = queue_of(*catalogue, row);
    if (caller == Caller::user)
        check_new_job(row, queue);
    else if (row.null(Column::id))  // not a job whose row is only rewritten
        check_made_job(row, queue);
    if (has_accepted_id(row))
        give_drawn_id(row, row.as_int64(Column::id), queue);
    else if (goes_elsewhere(row, queue))
        return nullptr;
    fill_new_job(row, catalogue, queue);
    if (core::is_unfinished(row.state()))
        job::make_capacity_for_successor(queue, row);
    job::note_if_waiting(RelationGetRelid(relation), row, queue);
    if (caller == Caller::user)
        job::join_batch(queue, row, job::Written::may_not_be);
    note_if_taken(row, caller);
    return row.is_changed ? row.form() : tuple;
}

// ---- update and delete ----

// In state `retry`, update_time is the time of any change; in `initial`, it remains the time of the
// enqueue.
void note_time(const JobRow &before, JobRow &after, const core::ColumnSet &changed)
{
    const bool stays_in_retry =
        before.state() == JobState::retry && after.state() == JobState::retry;
    if (stays_in_retry && changed.any() &&
        !changed.test(static_cast<std::size_t>(Column::update_time)))
        after.set(Column::update_time, TimestampTzGetDatum(pg::now().value));
}

// Checks the changed values that a user may choose, against the limits for jobs of the type.
void check_changed_job(JobRow &after, const catalog::Queue &queue, const core::ColumnSet &changed)
{
    const auto is_changed = [&](Column column) {
        return changed.test(static_cast<std::size_t>(column));
    };
    if (is_changed(Column::scheduled_run_time) || is_changed(Column::expires_time))
        check_expiry(after);
    const catalog::JobType *type = queue.find_job_type(after.as_text(Column::job_type));
    check_caps(after, queue, type, changed);
    if (is_changed(Column::job_data))
        job::complete_job_data(after, type);
}

HeapTuple guard_update(Relation relation, HeapTuple before_tuple, HeapTuple after_tuple)
{
    const JobRow before(relation, before_tuple);
    JobRow after(relation, after_tuple);
    const Caller caller = caller_of_change();
    if (caller == Caller::replica && comes_by_subscription(after))
        return after_tuple;
    if (caller == Caller::replica) {
        job::note_place(RelationGetRelid(relation), after);
        return after_tuple;
    }
    const core::ColumnSet changed = job::differing_columns(relation, before, after);
    if (const auto refusal = core::check_update(caller, before.state(), after.state(), changed))
        refuse(*refusal, before);
    if (caller == Caller::user && before.state() == JobState::final)
        return nullptr;  // it passed the check, so nothing changes: write nothing
    if (caller == Caller::user)
        check_chosen_values(after);
    const auto catalogue = catalog::catalogue();
    if (const catalog::Queue *queue = catalogue->find(after.as_int32(Column::queue_id))) {
        if (caller == Caller::user)
            check_changed_job(after, *queue, changed);
        job::note_if_waiting(RelationGetRelid(relation), after, *queue);
    }
    note_if_taken(after, caller);
    note_time(before, after, changed);
    return after.is_changed ? after.form() : after_tuple;
}

HeapTuple guard_delete(Relation relation, HeapTuple tuple)
{
    const Caller caller = caller_of_change();
    const JobRow row(relation, tuple);
    if (caller == Caller::replica)
        (void)comes_by_subscription(row);
    if (caller != Caller::user)
        return tuple;
    const bool is_owner = ::GetUserId() == pg::extension_owner();
    if (const auto refusal = core::check_delete(caller, is_owner, row.state()))
        refuse(*refusal, row);
    wakeup::note_unknown_waits();  // other jobs may have waited for it
    return tuple;
}

HeapTuple guard(const TriggerData &data)
{
    if (TRIGGER_FIRED_BY_INSERT(data.tg_event))
        return guard_insert(data.tg_relation, data.tg_trigtuple);
    if (TRIGGER_FIRED_BY_UPDATE(data.tg_event))
        return guard_update(data.tg_relation, data.tg_trigtuple, data.tg_newtuple);
    return guard_delete(data.tg_relation, data.tg_trigtuple);
}

}  // namespace

}  // namespace hipq::enqueue

HIPQ_FUNCTION(hipq_guard_job)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        HIPQ_RAISE(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                   errmsg("hipq._guard_job() is a trigger"));
    const auto *data = reinterpret_cast<TriggerData *>(fcinfo->context);
    if (!TRIGGER_FIRED_FOR_ROW(data->tg_event) || !TRIGGER_FIRED_BEFORE(data->tg_event))
        HIPQ_RAISE(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                   errmsg("hipq._guard_job() must be fired before each row"));
    return PointerGetDatum(hipq::enqueue::guard(*data));
}
