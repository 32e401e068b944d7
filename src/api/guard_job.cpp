// The guard trigger on hipq.job: fills a new job from its type, keeps state and bookkeeping for hipq itself, and notes what
// becomes claimable.
//
// It gathers facts; the rules are in core/guard.hpp and core/validate.hpp. It never looks for duplicates: the unique index does.
#include "api/checks.hpp"
#include "core/time_windows.hpp"
#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "pg/transaction.hpp"
#include "shmem/wake.hpp"
#include "storage/catalogue.hpp"
#include "storage/current_job.hpp"
#include "storage/job_row.hpp"
#include "storage/permit.hpp"
#include "storage/two_phase.hpp"

extern "C" {
#include "utils/numeric.h"
}

namespace hipq::api {

namespace {

using core::Caller;
using core::Column;
using core::JobState;
using storage::JobRow;

// ---- who writes ----

bool is_copy()
{
    return ActivePortal != nullptr && ActivePortal->commandTag == CMDTAG_COPY;
}

bool is_restorer()
{
    return pg::call([] { return ::superuser(); }) || ::GetUserId() == pg::extension_owner();
}

// A row as a dump carries it: nothing left for the trigger to fill.
bool is_complete(const JobRow &row)
{
    constexpr std::array filled{Column::id,          Column::update_time, Column::created_time,    Column::timeout,
                                Column::max_retries, Column::priority,    Column::throttle_factor, Column::time_windows};
    return std::none_of(filled.begin(), filled.end(), [&](Column column) { return row.null(column); });
}

Caller caller_of_insert(const JobRow &row)
{
    if (storage::is_permitted())
        return Caller::hipq;
    if (SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA)
        return Caller::replica;
    if (is_copy() && is_complete(row) && is_restorer())
        return Caller::restore;
    return Caller::user;
}

Caller caller_of_change()
{
    if (storage::is_permitted())
        return Caller::hipq;
    return SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA ? Caller::replica : Caller::user;
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

[[noreturn]] void refuse(const core::Refusal &refusal, const JobRow &row)
{
    using Rule = core::Refusal::Rule;
    const std::string column = name_of(refusal.column);
    const std::string state = name_of(row.state());
    const auto id = static_cast<long long>(row.as_int64(Column::id));
    switch (refusal.rule) {
    case Rule::bookkeeping_given:
        HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("column \"%s\" of a new job is set by hipq", column.c_str()),
                   errhint("Leave the column out or give NULL."));
    case Rule::state_changed:
        HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("the state of job %lld is changed by hipq only", id),
                   errhint("Use hipq.cancel(), hipq.retry() or hipq.reschedule()."));
    case Rule::bookkeeping_changed:
        HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                   errmsg("column \"%s\" of job %lld is changed by hipq only", column.c_str(), id),
                   errhint("Use hipq.cancel(), hipq.retry() or hipq.reschedule()."));
    case Rule::fixed_changed:
        HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                   errmsg("column \"%s\" of job %lld is fixed when it is enqueued", column.c_str(), id),
                   errhint("Use hipq.cancel() and hipq.enqueue()."));
    case Rule::not_waiting:
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("cannot change job %lld in state \"%s\"", id, state.c_str()),
                   errdetail("Only a waiting job (initial or retry) can be changed."));
    case Rule::already_final:
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("cannot change job %lld: it is final", id),
                   errhint("Use hipq.retry() to run it again as a new job, or hipq.erase() to remove it."));
    case Rule::illegal_transition:
        HIPQ_RAISE(errcode(ERRCODE_INTERNAL_ERROR), errmsg("job %lld cannot leave state \"%s\" that way", id, state.c_str()));
    case Rule::delete_refused:
        HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("job %lld cannot be deleted", id),
                   errhint("Use hipq.cancel() for a waiting job, hipq.erase() for a final one."));
    }
    std::abort();
}

// ---- values that users choose ----

double number_of(Datum numeric)
{
    return pg::call([&] { return DatumGetFloat8(DirectFunctionCall1(::numeric_float8_no_overflow, numeric)); });
}

void check_time(const JobRow &row, Column column, bool infinity_allowed)
{
    if (row.null(column))
        return;
    const Timestamp time = row.as_int64(column);
    if (!TIMESTAMP_IS_NOBEGIN(time) && (infinity_allowed || !TIMESTAMP_IS_NOEND(time)))
        return;
    const std::string name = name_of(column);
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s cannot be infinite", name.c_str()),
               errhint("Give a point in time."));
}

// Parses the windows and puts their canonical form into the row.
void canonicalise_time_windows(JobRow &row)
{
    if (row.null(Column::time_windows))
        return;
    const std::string given = row.as_text(Column::time_windows);
    if (given == core::none_text)
        return;
    const auto parsed = core::parse_time_windows(given);
    if (const auto *problem = std::get_if<core::ParseProblem>(&parsed))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("invalid time windows: \"%s\"", given.c_str()),
                   errdetail("At position %zu: %s.", problem->position, problem->message.c_str()),
                   errhint("Write for example 'mon-fri 09:00-17:00' or '22:00-06:00'."));
    const std::string canonical = core::canonical(std::get<core::TimeWindows>(parsed));
    if (canonical != given)
        row.set(Column::time_windows, pg::call([&] { return CStringGetTextDatum(canonical.c_str()); }));
}

// Everything a user may choose, as given: NULL means "not given".
void check_chosen_values(JobRow &row)
{
    demand(core::check_job_type(row.as_text(Column::job_type)));
    if (!row.null(Column::timeout))
        demand(core::check_timeout(row.as_int32(Column::timeout)));
    if (!row.null(Column::queue_ttl))
        demand(core::check_queue_ttl(row.as_int32(Column::queue_ttl)));
    if (!row.null(Column::max_retries))
        demand(core::check_max_retries(row.as_int32(Column::max_retries)));
    if (!row.null(Column::throttle_factor))
        demand(core::check_throttle_factor(number_of(row.value(Column::throttle_factor))));
    if (!row.null(Column::job_key))
        demand(core::check_job_key(row.as_text(Column::job_key)));
    if (!row.null(Column::throttle_key))
        demand(core::check_throttle_key(row.as_text(Column::throttle_key)));
    check_time(row, Column::scheduled_run_time, false);
    check_time(row, Column::expires_time, true);
    if (!row.null(Column::job_data))
        check_job_data(row.value(Column::job_data));
    canonicalise_time_windows(row);
}

// ---- insert ----

bool is_text(const JobRow &row, Column column, std::string_view expected)
{
    return row.null(column) || row.as_text(column) == expected;
}

bool is_json_null(Datum value)
{
    return pg::call([&] {
        Jsonb *json = DatumGetJsonbP(value);
        JsonbValue scalar;
        return JB_ROOT_IS_SCALAR(json) && ::JsonbExtractScalar(&json->root, &scalar) && scalar.type == jbvNull;
    });
}

// The bookkeeping columns whose value is neither NULL nor the start value.
core::ColumnSet given_bookkeeping(const JobRow &row)
{
    core::ColumnSet given;
    const auto note = [&](Column column, bool is_given) { given.set(static_cast<std::size_t>(column), is_given); };
    for (const Column column :
         {Column::id, Column::original_job_id, Column::retry_of, Column::worker_id, Column::update_time, Column::created_time})
        note(column, !row.null(column));
    for (const Column column : {Column::accepted_time, Column::deadline})
        note(column, !row.null(column) && !TIMESTAMP_IS_NOEND(row.as_int64(column)));
    for (const Column column : {Column::attempt, Column::retry_count})
        note(column, row.as_int32(column) != 0);
    for (const Column column : {Column::error, Column::retry_reason})
        note(column, !is_text(row, column, core::none_text));
    note(Column::state, row.state() != JobState::initial);
    note(Column::result, !row.null(Column::result) && !is_json_null(row.value(Column::result)));
    return given;
}

Datum next_job_id()
{
    return pg::call([] {
        const Oid sequence = ::get_relname_relid("job_id_seq", ::get_namespace_oid("hipq", false));
        return Int64GetDatum(::nextval_internal(sequence, false));
    });
}

Datum text_datum(std::string_view text)
{
    return pg::call([&] { return PointerGetDatum(::cstring_to_text_with_len(text.data(), static_cast<int>(text.size()))); });
}

Datum json_datum(const char *json)
{
    return pg::call([&] { return DirectFunctionCall1(::jsonb_in, CStringGetDatum(json)); });
}

Datum numeric_datum(const std::string &number)
{
    return pg::call([&] {
        return DirectFunctionCall3(::numeric_in, CStringGetDatum(number.c_str()), ObjectIdGetDatum(InvalidOid),
                                   Int32GetDatum(-1));
    });
}

// Puts a value where the row has none; `value` is computed only then.
template <class Value>
void fill(JobRow &row, Column column, Value &&value)
{
    if (row.null(column))
        row.set(column, value());
}

// What the job type decides.
void fill_from_type(JobRow &row, const storage::JobType &type, const storage::Queue &queue)
{
    fill(row, Column::timeout, [&] { return Int32GetDatum(type.default_timeout); });
    fill(row, Column::priority, [&] { return Int16GetDatum(static_cast<std::int16_t>(type.default_priority)); });
    fill(row, Column::throttle_factor, [&] { return numeric_datum(type.default_throttle_factor); });
    fill(row, Column::time_windows, [&] { return text_datum(type.default_time_windows); });
    fill(row, Column::max_retries, [&] { return Int32GetDatum(type.max_retries); });
    const std::optional<int> queue_ttl = type.queue_ttl.has_value() ? type.queue_ttl : queue.queue_ttl;
    if (queue_ttl.has_value())
        fill(row, Column::queue_ttl, [&] { return Int32GetDatum(*queue_ttl); });
}

// Start values of everything else.
void fill_start_values(JobRow &row)
{
    const auto none = [] { return text_datum(core::none_text); };
    const auto infinity = [] { return TimestampTzGetDatum(DT_NOEND); };
    const auto zero = [] { return Int32GetDatum(0); };
    const auto transaction_start = [] { return TimestampTzGetDatum(::GetCurrentTransactionStartTimestamp()); };
    fill(row, Column::id, next_job_id);
    fill(row, Column::state, [] { return storage::state_datum(JobState::initial); });
    for (const Column column : {Column::scheduled_run_time, Column::created_time, Column::update_time})
        fill(row, column, transaction_start);
    for (const Column column : {Column::accepted_time, Column::deadline, Column::expires_time})
        fill(row, column, infinity);
    for (const Column column : {Column::attempt, Column::retry_count})
        fill(row, column, zero);
    for (const Column column : {Column::job_key, Column::error, Column::throttle_key, Column::retry_reason, Column::shard_key})
        fill(row, column, none);
    fill(row, Column::job_data, [] { return json_datum("{}"); });
    fill(row, Column::result, [] { return json_datum("null"); });
}

const storage::Queue &queue_of(const storage::Catalogue &catalogue, const JobRow &row)
{
    const storage::Queue *queue = row.null(Column::queue_id) ? nullptr : catalogue.find(row.as_int32(Column::queue_id));
    if (queue == nullptr)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a job needs the number of its queue in column \"queue_id\""),
                   errhint("Insert into the queue's own table and leave queue_id out."));
    return *queue;
}

void demand_open_queue(const storage::Queue &queue, const std::string &job_type)
{
    const bool is_unknown = queue.is_strict && queue.find_job_type(job_type) == nullptr;
    if (!queue.is_dropped && !is_unknown)
        return;
    const std::string name = queue.full_name();
    if (queue.is_dropped)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("queue \"%s\" is being dropped", name.c_str()));
    HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
               errmsg("job type \"%s\" is not registered in queue \"%s\"", job_type.c_str(), name.c_str()),
               errhint("Use hipq.register_job_type(); the queue is strict."));
}

void demand_job_type(const JobRow &row)
{
    if (row.null(Column::job_type))
        HIPQ_RAISE(errcode(ERRCODE_NOT_NULL_VIOLATION), errmsg("a job needs a job_type"));
}

// In the lane where claims will look for it.
void note_place(Relation leaf, const JobRow &row)
{
    if (core::is_waiting(row.state()))
        shmem::note_lane_key({RelationGetRelid(leaf), row.as_int32(Column::queue_id), row.as_int32(Column::priority),
                              row.as_text(Column::job_type)},
                             {row.as_int64(Column::scheduled_run_time), row.as_int64(Column::id)});
}

void note_if_waiting(Relation leaf, const JobRow &row, const storage::Queue &queue)
{
    note_place(leaf, row);
    if (core::is_waiting(row.state()))
        shmem::note_waiting(queue.owner, pg::Time{row.as_int64(Column::scheduled_run_time)},
                            pg::Time{row.as_int64(Column::expires_time)});
}

// hipq itself writes such a state when a job is claimed, or leaves `running`.
void note_if_taken(const JobRow &row, Caller caller)
{
    if (caller == Caller::hipq && !core::is_waiting(row.state()))
        storage::forbid_two_phase(storage::NoTwoPhase::job_taken);
}

void note_restored(core::JobState state)
{
    shmem::note_catalogue_change();  // the catalogue may be loaded later than its jobs: the scheduler finds out
    if (state != core::JobState::running && state != core::JobState::error)
        return;
    shmem::note_restore();
    storage::forbid_two_phase(storage::NoTwoPhase::attempt_restored);
}

HeapTuple guard_insert(Relation relation, HeapTuple tuple)
{
    JobRow row(relation, tuple);
    const Caller caller = caller_of_insert(row);
    if (caller == Caller::restore || caller == Caller::replica) {
        note_place(relation, row);
        note_restored(row.state());
        return tuple;
    }
    if (const auto refusal = core::check_insert(caller, row.state(), given_bookkeeping(row)))
        refuse(*refusal, row);
    demand_job_type(row);
    const auto catalogue = storage::catalogue();
    const storage::Queue &queue = queue_of(*catalogue, row);
    const std::string type_name = row.as_text(Column::job_type);
    if (caller == Caller::user) {
        check_chosen_values(row);
        demand_open_queue(queue, type_name);
        HIPQ_POINT("in-enqueue");
    }
    const storage::JobType *type = queue.find_job_type(type_name);
    fill_from_type(row, type != nullptr ? *type : storage::unregistered_job_type(queue.id, type_name), queue);
    fill_start_values(row);
    if (core::is_unfinished(row.state()))
        storage::make_room_for_successor(queue.id, type_name, row.as_text(Column::job_key));
    note_if_waiting(relation, row, queue);
    note_if_taken(row, caller);
    return row.is_changed() ? row.form() : tuple;
}

// ---- update and delete ----

HeapTuple guard_update(Relation relation, HeapTuple before_tuple, HeapTuple after_tuple)
{
    const JobRow before(relation, before_tuple);
    JobRow after(relation, after_tuple);
    const Caller caller = caller_of_change();
    if (caller == Caller::replica) {
        note_place(relation, after);
        return after_tuple;
    }
    if (const auto refusal =
            core::check_update(caller, before.state(), after.state(), differing_columns(relation, before, after)))
        refuse(*refusal, before);
    if (caller == Caller::user)
        check_chosen_values(after);
    const auto catalogue = storage::catalogue();
    if (const storage::Queue *queue = catalogue->find(after.as_int32(Column::queue_id)))
        note_if_waiting(relation, after, *queue);
    note_if_taken(after, caller);
    return after.is_changed() ? after.form() : after_tuple;
}

HeapTuple guard_delete(Relation relation, HeapTuple tuple)
{
    const Caller caller = caller_of_change();
    const bool is_owner = caller == Caller::user && ::GetUserId() == pg::extension_owner();
    if (const auto refusal = core::check_delete(caller, is_owner))
        refuse(*refusal, JobRow(relation, tuple));
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

}  // namespace hipq::api

HIPQ_FUNCTION(hipq_guard_job)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        HIPQ_RAISE(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED), errmsg("hipq._guard_job() is a trigger"));
    const auto *data = reinterpret_cast<TriggerData *>(fcinfo->context);
    if (!TRIGGER_FIRED_FOR_ROW(data->tg_event) || !TRIGGER_FIRED_BEFORE(data->tg_event))
        HIPQ_RAISE(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED), errmsg("hipq._guard_job() must be fired before each row"));
    return PointerGetDatum(hipq::api::guard(*data));
}
