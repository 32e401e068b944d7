// Runs a handler's statement through a portal, without SPI, as a client's own top-level statement.
#include "execute/run_handler.hpp"

#include "catalog/cache.hpp"
#include "catalog/handler.hpp"
#include "execute/handler_plan.hpp"
#include "job/claimed_job.hpp"
#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "settings.hpp"
#include "shared/lanes/rates.hpp"

extern "C" {
#include "common/int.h"
#include "tcop/cmdtag.h"
#include "tcop/dest.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/portal.h"
#include "utils/timestamp.h"
}

namespace hipq::execute {

namespace {

constexpr int max_arguments = 3;

// A call as plain data, which may cross into pg::call().
struct Call {
    CachedPlanSource *plan;
    int argument_count;
    Oid types[max_arguments];
    Datum values[max_arguments];
    MemoryContext memory;                         // outlives the transactions of the call
    std::span<const job::ClaimedJob> starting{};  // their starts count under a rate
};

// The outcome of a call: the first column of the first row, if any.
struct Outcome {
    bool has_row;
    bool is_null;
    Oid type;
    Datum value;
    CommandTag tag;
    std::uint64_t rows;
};

pg::RawValue data_of(const job::ClaimedJob &job)
{
    return job.data;
}

pg::RawValue whole_of(const job::ClaimedJob &job)
{
    return job::row_of(job);
}

// Returns the rows, or the data, of all jobs as one array.
pg::RawValue array_of(std::span<const job::ClaimedJob> jobs,
                      pg::RawValue (*what)(const job::ClaimedJob &))
{
    std::vector<pg::RawValue> values;
    values.reserve(jobs.size());
    for (const job::ClaimedJob &job : jobs)
        values.push_back(what(job));
    const Oid type = values.front().type;
    return pg::call([&] {
        auto *elements = static_cast<Datum *>(::palloc(sizeof(Datum) * values.size()));
        for (std::size_t i = 0; i < values.size(); ++i)
            elements[i] = values[i].value;
        const char alignment = type == JSONBOID ? TYPALIGN_INT : TYPALIGN_DOUBLE;
        const Oid array_type = ::get_array_type(type);
        ArrayType *array =
            ::construct_array(elements, static_cast<int>(jobs.size()), type, -1, false, alignment);
        return pg::RawValue{array_type, PointerGetDatum(array), false};
    });
}

pg::RawValue ids_of(std::span<const job::ClaimedJob> jobs)
{
    return pg::call([&] {
        auto *ids = static_cast<Datum *>(::palloc(sizeof(Datum) * jobs.size()));
        for (std::size_t i = 0; i < jobs.size(); ++i)
            ids[i] = Int64GetDatum(jobs[i].id);
        ArrayType *array =
            ::construct_array(ids, static_cast<int>(jobs.size()), INT8OID, sizeof(std::int64_t),
                              FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
        return pg::RawValue{INT8ARRAYOID, PointerGetDatum(array), false};
    });
}

Call call_of(const catalog::Handler &handler, std::span<const job::ClaimedJob> jobs,
             MemoryContext memory)
{
    const job::ClaimedJob &job = jobs.front();
    using catalog::HandlerArguments;
    const bool is_statement = handler.kind == catalog::HandlerKind::statement;
    Call call{nullptr, 0, {}, {}, memory};
    const auto add = [&](Oid type, Datum value) {
        call.types[call.argument_count] = type;
        call.values[call.argument_count++] = value;
    };
    switch (handler.arguments) {
    case HandlerArguments::none:
        break;
    case HandlerArguments::job:
        add(job.row_type, job::row_of(job).value);
        break;
    case HandlerArguments::data:
        add(JSONBOID, job.data.value);
        break;
    case HandlerArguments::jobs:
    case HandlerArguments::data_of_jobs: {
        const pg::RawValue array =
            array_of(jobs, handler.arguments == HandlerArguments::jobs ? whole_of : data_of);
        add(array.type, array.value);
        break;
    }
    case HandlerArguments::ids_and_data:
        add(INT8ARRAYOID, ids_of(jobs).value);
        add(JSONBARRAYOID, array_of(jobs, data_of).value);
        break;
    case HandlerArguments::all_of_job:
        add(JSONBOID, job.data.value);
        add(INT8OID, Int64GetDatum(job.id));
        add(job.row_type, job::row_of(job).value);
        break;
    case HandlerArguments::id_and_data:
        if (is_statement)
            add(JSONBOID, job.data.value);
        add(INT8OID, Int64GetDatum(job.id));
        if (!is_statement)
            add(JSONBOID, job.data.value);
        break;
    }
    call.plan =
        handler_plan(handler.sql, {call.types, static_cast<std::size_t>(call.argument_count)});
    return call;
}

ParamListInfo parameters_of(const Call &call)
{
    if (call.argument_count == 0)
        return nullptr;
    ParamListInfo parameters = ::makeParamList(call.argument_count);
    for (int i = 0; i < call.argument_count; ++i)
        parameters->params[i] =
            ParamExternData{call.values[i], false, PARAM_FLAG_CONST, call.types[i]};
    return parameters;
}

// Returns the plan for these parameters; the caller releases it.
CachedPlan *plan_for(CachedPlanSource *source, ParamListInfo parameters)
{
    const bool needs_snapshot =
        source->raw_parse_tree != nullptr && ::analyze_requires_snapshot(source->raw_parse_tree);
    if (needs_snapshot)
        ::PushActiveSnapshot(::GetTransactionSnapshot());
    CachedPlan *plan = ::GetCachedPlan(source, parameters, nullptr, nullptr);
    if (needs_snapshot)
        ::PopActiveSnapshot();
    return plan;
}

// ---- call inside pg::call() only: a receiver that keeps the first value of the first row ----

struct FirstValue {
    DestReceiver receiver;  // must be first: PostgreSQL knows only this part
    MemoryContext memory;   // where to keep the value
    Outcome outcome;
};

Datum copy_of(Datum value, const Form_pg_attribute attribute)
{
    if (attribute->attbyval)
        return Datum{0};  // callers use only jsonb, jsonb[] and interval: by reference
    if (attribute->attlen == -1)
        return PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
    return ::datumCopy(value, false, attribute->attlen);
}

extern "C" bool hipq_receive_row(TupleTableSlot *slot, DestReceiver *self)
{
    auto *first = reinterpret_cast<FirstValue *>(self);
    Outcome &outcome = first->outcome;
    if (outcome.has_row || slot->tts_tupleDescriptor->natts == 0)
        return true;
    const Form_pg_attribute attribute = TupleDescAttr(slot->tts_tupleDescriptor, 0);
    const Datum value = ::slot_getattr(slot, 1, &outcome.is_null);
    outcome.has_row = true;
    outcome.type = attribute->atttypid;
    if (outcome.is_null)
        return true;
    MemoryContext before = ::MemoryContextSwitchTo(first->memory);
    outcome.value = copy_of(value, attribute);
    ::MemoryContextSwitchTo(before);
    return true;
}

extern "C" void hipq_begin_receiving(DestReceiver *, int, TupleDesc) {}

extern "C" void hipq_end_receiving(DestReceiver *) {}

FirstValue first_value(MemoryContext memory)
{
    const DestReceiver receiver{hipq_receive_row, hipq_begin_receiving, hipq_end_receiving,
                                hipq_end_receiving, DestTuplestore};
    return {receiver, memory, {false, true, InvalidOid, Datum{0}, CMDTAG_UNKNOWN, 0}};
}

// Does what happens to a prepared statement that a client executes. Call inside pg::call() only.
Outcome run_call(const Call &call)
{
    MemoryContext before = ::MemoryContextSwitchTo(call.memory);
    ParamListInfo parameters = parameters_of(call);

    FirstValue first = first_value(call.memory);
    Portal portal = ::CreateNewPortal();  // the unnamed portal may be the client's, which is in use
    portal->visible = false;
    const bool is_first = call.plan->num_custom_plans + call.plan->num_generic_plans == 0;
    CachedPlan *plan = plan_for(call.plan, parameters);
    ::PortalDefineQuery(portal, nullptr, call.plan->query_string, call.plan->commandTag,
                        plan->stmt_list, plan);
    ::PortalStart(portal, parameters, 0, InvalidSnapshot);
    QueryCompletion completion;
    ::InitializeQueryCompletion(&completion);
    for (const job::ClaimedJob &job : call.starting)
        lanes::note_start(job.id, is_first);
    pg::run_portal(portal, &first.receiver, &completion);
    ::PortalDrop(portal, false);
    ::MemoryContextSwitchTo(call.memory);
    first.outcome.tag = completion.commandTag;
    first.outcome.rows = completion.nprocessed;
    ::CommandCounterIncrement();
    ::MemoryContextSwitchTo(before);
    return first.outcome;
}

// ---- call inside pg::call() only: log lines of a handler name its job ----

struct JobLine {
    ErrorContextCallback callback;
    std::int64_t id;  // the first job of a batch
    std::size_t count;
    int attempt;
    const char *type;
    const char *traceparent;  // "" if it has none
};

extern "C" void hipq_add_job_line(void *argument)
{
    const auto *line = static_cast<const JobLine *>(argument);
    const int category = ERRCODE_TO_CATEGORY(::geterrcode());
    if (category != ERRCODE_SUCCESSFUL_COMPLETION && category != ERRCODE_WARNING)
        return;  // the attempt keeps the error, and names the job
    const auto id = static_cast<long long>(line->id);
    if (line->count > 1)
        errcontext("hipq job %lld and %zu more of type \"%s\"", id, line->count - 1, line->type);
    else if (*line->traceparent == '\0')
        errcontext("hipq job %lld of type \"%s\", attempt %d", id, line->type, line->attempt);
    else
        errcontext("hipq job %lld of type \"%s\", attempt %d, traceparent %s", id, line->type,
                   line->attempt, line->traceparent);
}

JobLine line_of(std::span<const job::ClaimedJob> jobs)
{
    const job::ClaimedJob &job = jobs.front();
    return {{error_context_stack, hipq_add_job_line, nullptr},
            job.id,
            jobs.size(),
            job.attempt,
            job.type.c_str(),
            settings::present_traceparent()};
}

Outcome run_call_for(std::span<const job::ClaimedJob> jobs, const Call &call)
{
    JobLine line = line_of(jobs);
    line.callback.arg = &line;
    error_context_stack = &line.callback;
    const Outcome outcome = run_call(call);
    error_context_stack = line.callback.previous;
    return outcome;
}

// A statement's result says what it did: {"command": "INSERT", "rows": 1}.
Datum result_of_statement(const Outcome &outcome)
{
    char json[100];
    ::pg_snprintf(json, sizeof(json), "{\"command\": \"%s\", \"rows\": %llu}",
                  ::GetCommandTagName(outcome.tag), static_cast<unsigned long long>(outcome.rows));
    return DirectFunctionCall1(::jsonb_in, CStringGetDatum(json));
}

void give_to_all(std::span<pg::RawValue> results, Datum value)
{
    for (pg::RawValue &result : results)
        result = pg::RawValue{JSONBOID, value, false};
}

// Call inside pg::call() only.
void give_to_each(std::span<pg::RawValue> results, ArrayType *array)
{
    Datum *values = nullptr;
    bool *nulls = nullptr;
    int count = 0;
    ::deconstruct_array(array, JSONBOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
    if (static_cast<std::size_t>(count) != results.size())
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("batch handler returned %d results for %zu jobs", count, results.size()),
                errhint("Return an array with one result for each job, in the order of the jobs, "
                        "or nothing."));
    for (std::size_t i = 0; i < results.size(); ++i)
        results[i] = pg::RawValue{JSONBOID, values[i], nulls[i]};
}

// Call inside pg::call() only. Raises 22008 if the sum overflows, or leads past the last time that
// PostgreSQL has, as infinity does.
std::int64_t delay_of(const Interval &interval, pg::Time now)
{
    const std::int64_t days =
        static_cast<std::int64_t>(interval.month) * DAYS_PER_MONTH + interval.day;
    std::int64_t delay = 0;
    std::int64_t time = 0;
    const bool fits = !::pg_mul_s64_overflow(days, USECS_PER_DAY, &delay) &&
                      !::pg_add_s64_overflow(delay, interval.time, &delay) &&
                      !::pg_add_s64_overflow(now.value, std::max<std::int64_t>(delay, 0), &time) &&
                      IS_VALID_TIMESTAMP(time);
    if (!fits)
        ereport(ERROR, errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
                errmsg("delay of a retry is out of range"),
                errdetail("The retry handler returned %s.",
                          DatumGetCString(
                              DirectFunctionCall1(::interval_out, IntervalPGetDatum(&interval)))),
                errhint("Return an interval that is finite, or NULL for no retry."));
    return delay;
}

}  // namespace

std::vector<pg::RawValue> run_handler(const catalog::Handler &handler,
                                      std::span<const job::ClaimedJob> jobs, MemoryContext memory,
                                      Starts starts)
{
    Call call = call_of(handler, jobs, memory);
    if (starts == Starts::counted)
        call.starting = jobs;
    std::vector<pg::RawValue> results(jobs.size(), pg::RawValue{JSONBOID, Datum{0}, true});
    pg::call([&] {
        const Outcome outcome = run_call_for(jobs, call);
        MemoryContext before = ::MemoryContextSwitchTo(memory);
        if (handler.kind == catalog::HandlerKind::statement)
            give_to_all(results, result_of_statement(outcome));
        else if (handler.returns_result && outcome.has_row && !outcome.is_null &&
                 outcome.type == JSONBOID)
            give_to_all(results, outcome.value);
        else if (handler.returns_result && outcome.has_row && !outcome.is_null &&
                 outcome.type == JSONBARRAYOID)
            give_to_each(results, DatumGetArrayTypeP(outcome.value));
        ::MemoryContextSwitchTo(before);
    });
    return results;
}

std::optional<std::int64_t> run_retry_handler(const catalog::Handler &handler,
                                              const job::ClaimedJob &job, MemoryContext memory)
{
    const Call call = call_of(handler, {&job, 1}, memory);
    std::optional<std::int64_t> delay;
    const pg::Time now = pg::now();
    pg::call([&] {
        const Outcome outcome = run_call_for({&job, 1}, call);
        if (!outcome.has_row || outcome.is_null)
            return;
        if (outcome.type != INTERVALOID)
            ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
                    errmsg("retry handler returned type %s, not interval",
                           ::format_type_be(outcome.type)),
                    errhint("Return an interval, or NULL for no retry."));
        delay = delay_of(*DatumGetIntervalP(outcome.value), now);
    });
    return delay;
}

void end_user_code()
{
    pg::call([] {
        if (::GetUserId() != ::GetSessionUserId())  // SET ROLE
            (void)::set_config_option("role", "none", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SET,
                                      true, 0, false);
        ::AfterTriggerFireDeferred();
        ::PortalHashTableDeleteAll();
    });
}

}  // namespace hipq::execute
