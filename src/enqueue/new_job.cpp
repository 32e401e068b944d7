// Checks and completes a new job, however it is enqueued.
//
// The limits are in core/job/validate.hpp, the values of the types in start_values.hpp. This code
// allocates nothing for a job with few values: these rules are most of what a new job costs apart
// from its row.
#include "enqueue/new_job.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_hold.hpp"
#include "catalog/unregistered_types.hpp"
#include "core/job/bounds.hpp"
#include "core/shards/ids.hpp"
#include "job/batches/batch_joins.hpp"
#include "job/fitting_data.hpp"
#include "job/job_row.hpp"
#include "job/made_by_handler.hpp"
#include "job/note_waiting.hpp"
#include "nodes/nodes.hpp"
#include "pg/demand.hpp"
#include "pg/point.hpp"
#include "settings.hpp"

namespace hipq::enqueue {

namespace {

using core::Column;

// ---- values that users choose ----

double number_of(Datum numeric)
{
    return pg::call(
        [&] { return DatumGetFloat8(DirectFunctionCall1(::numeric_float8_no_overflow, numeric)); });
}

pg::RawValue numeric_of(double number)
{
    return pg::call([&] {
        return pg::RawValue{NUMERICOID,
                            DirectFunctionCall1(::float8_numeric, Float8GetDatum(number))};
    });
}

// `may_be_far`: infinity, and times that count as infinity, mean that the time is not set.
void check_time(const job::RowValues &job, Column column, bool may_be_far)
{
    if (!job.null(column) && !(may_be_far && job.as_time(column) == pg::infinity))
        demand_point_in_time(core::name(column), pg::Time{job.as_int64(column)});
}

// Stores a user's infinity as far_time, which drivers can read.
void canonicalise_expires_time(job::RowValues &job)
{
    if (!job.null(Column::expires_time) && job.as_time(Column::expires_time) == pg::infinity)
        job.set(Column::expires_time, TimestampTzGetDatum(pg::far_time.value));
}

// Stores the value with three decimals, the precision of accounting.
void canonicalise_throttle_factor(job::RowValues &job)
{
    if (job.null(Column::throttle_factor))
        return;
    const Datum given = job.value(Column::throttle_factor);
    pg::demand(core::check_throttle_factor(number_of(given)));
    constexpr int decimals = 3;
    job.set(Column::throttle_factor, pg::call([&] {
                return DirectFunctionCall2(::numeric_round, given, Int32GetDatum(decimals));
            }));
}

// Parses the windows and stores their canonical form in the row.
void canonicalise_time_windows(job::RowValues &job)
{
    if (job.null(Column::time_windows) || job.as_text(Column::time_windows) == core::none_text)
        return;
    const std::string given(job.as_text(Column::time_windows));
    const std::string canonical = pg::canonical_time_windows(given);
    if (canonical != given)
        job.set(Column::time_windows,
                pg::call([&] { return CStringGetTextDatum(canonical.c_str()); }));
}

// Raises 55000 for a queue that is being dropped or is a replica, 42704 for a type that a strict
// queue does not know.
void demand_open_queue(const catalog::Queue &queue, std::string_view job_type,
                       const catalog::JobType *type)
{
    catalog::demand_not_held(queue);
    const bool is_unknown = queue.is_strict && type == nullptr;
    if (!queue.is_dropped && !is_unknown)
        return;
    const std::string name = queue.full_name();
    if (queue.is_dropped)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("queue \"%s\" is being dropped", name.c_str()));
    const std::string type_name(job_type);
    HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
               errmsg("job type \"%s\" is not registered in queue \"%s\"", type_name.c_str(),
                      name.c_str()),
               errhint("Use hipq.register_job_type(); the queue is strict."));
}

// ---- what hipq fills in ----

// The queue and id of the row that the present AcceptedId accepts.
constinit AcceptedId::Row accepted{};

void set_id(job::RowValues &job, const catalog::Catalogue &catalogue, const catalog::Queue &queue)
{
    if (queue.shards != nullptr)
        nodes::place(job, queue, catalogue.job_ids);
    else {
        job.set(Column::id, Int64GetDatum(pg::call(
                                [&] { return ::nextval_internal(catalogue.job_ids, false); })));
        nodes::fill_shard_key(job, queue);
    }
}

// The trace that a call has given for its jobs.
constinit const std::string *given_traceparent = nullptr;

// Uses the given trace, or else that of the session or of the job whose handler enqueues.
void fill_traceparent(job::RowValues &job)
{
    const char *traceparent =
        given_traceparent != nullptr ? given_traceparent->c_str() : settings::present_traceparent();
    if (*traceparent != '\0' && job.null(Column::traceparent))
        job.set(Column::traceparent, pg::call([&] { return CStringGetTextDatum(traceparent); }));
}

void fill(job::RowValues &job, Column column, Datum value)
{
    if (job.null(column))
        job.set(column, value);
}

}  // namespace

// Checks the value before the column rounds it: a tiny negative number would pass as 0, and an
// infinite one would fail with a message of numeric.
pg::RawValue throttle_factor_of(const std::optional<double> &given)
{
    if (!given.has_value())
        return {NUMERICOID, Datum{0}, true};
    pg::demand(core::check_throttle_factor(*given));
    return numeric_of(*given);
}

// A trigger on the table may enqueue, too, by a call of its own.
GivenTraceparent::GivenTraceparent(std::optional<std::string> traceparent)
    : traceparent_(std::move(traceparent)), before_(given_traceparent)
{
    if (!traceparent_.has_value())
        return;
    pg::demand(core::check_traceparent(*traceparent_));
    given_traceparent = &*traceparent_;
}

GivenTraceparent::~GivenTraceparent()
{
    given_traceparent = before_;
}

// A trigger on the table may enqueue, too, by a call of its own.
AcceptedId::AcceptedId(const Row &row) : before_(std::exchange(accepted, row)) {}

AcceptedId::~AcceptedId()
{
    accepted = before_;
}

bool has_accepted_id(const job::RowValues &job)
{
    return accepted.id.has_value() && !job.null(Column::id) && !job.null(Column::queue_id) &&
           job.as_int64(Column::id) == *accepted.id &&
           job.as_int32(Column::queue_id) == accepted.queue_id;
}

void check_chosen_values(job::RowValues &job)
{
    check_bounds(job);
    if (!job.null(Column::job_data))
        pg::check_job_data(job.value(Column::job_data));
}

void check_bounds(job::RowValues &job)
{
    pg::demand(core::check_job_type(job.as_text(Column::job_type)));
    if (!job.null(Column::timeout))
        pg::demand(core::check_timeout(job.as_int32(Column::timeout)));
    if (!job.null(Column::queue_ttl))
        pg::demand(core::check_queue_ttl(job.as_int32(Column::queue_ttl)));
    if (!job.null(Column::max_retries))
        pg::demand(core::check_max_retries(job.as_int32(Column::max_retries)));
    canonicalise_throttle_factor(job);
    if (!job.null(Column::job_key))
        pg::demand(core::check_job_key(job.as_text(Column::job_key)));
    if (!job.null(Column::throttle_key))
        pg::demand(core::check_throttle_key(job.as_text(Column::throttle_key)));
    if (!job.null(Column::shard_key))
        pg::demand(core::check_size_of("shard_key", job.as_text(Column::shard_key).size(),
                                       core::most_shard_key));
    if (!job.null(Column::traceparent))
        pg::demand(core::check_traceparent(job.as_text(Column::traceparent)));
    check_time(job, Column::scheduled_run_time, false);
    check_time(job, Column::expires_time, true);
    canonicalise_expires_time(job);
    canonicalise_time_windows(job);
}

void demand_point_in_time(std::string_view name, pg::Time time)
{
    constexpr pg::Time first{-63'082'281'600'000'000};  // 0001-01-01 00:00:00+00
    const std::string column(name);
    if (TIMESTAMP_NOT_FINITE(time.value))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("%s cannot be infinite", column.c_str()),
                   errhint("Give a point in time."));
    if (time < first || time >= pg::far_time)
        HIPQ_RAISE(
            errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("%s %s is out of range", column.c_str(), ::timestamptz_to_str(time.value)),
            errhint("Give a point in time from the year 1 to the year 9998."));
}

void demand_expiry_after(pg::Time scheduled, pg::Time expires)
{
    if (scheduled <= expires)
        return;
    const auto text_of = [](pg::Time time) {
        return std::string(pg::call([&] { return ::timestamptz_to_str(time.value); }));
    };
    const std::string due = text_of(scheduled);  // one buffer for all
    const std::string end = text_of(expires);
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("expires_time %s is before scheduled_run_time %s", end.c_str(), due.c_str()),
               errdetail("The job could never start."),
               errhint("Give a later expires_time or an earlier scheduled_run_time; hipq.cancel() "
                       "ends a job that is not wanted."));
}

void check_expiry(const job::RowValues &job)
{
    if (job.null(Column::scheduled_run_time) || job.null(Column::expires_time))
        return;
    const std::int64_t scheduled = job.as_int64(Column::scheduled_run_time);
    const bool is_default =
        scheduled == ::GetCurrentTransactionStartTimestamp() ||
        (!job.null(Column::created_time) && scheduled == job.as_int64(Column::created_time));
    if (!is_default)
        demand_expiry_after(pg::Time{scheduled}, job.as_time(Column::expires_time));
}

namespace {

bool is_free(const job::RowValues &job)
{
    return number_of(job.value(Column::throttle_factor)) == 0;
}

core::ColumnSet capped_columns()
{
    core::ColumnSet columns;
    for (const Column column : {Column::timeout, Column::priority, Column::throttle_factor})
        columns.set(static_cast<std::size_t>(column));
    return columns;
}

}  // namespace

void check_caps(const job::RowValues &job, const catalog::Queue &queue,
                const catalog::JobType *type, const core::ColumnSet &given)
{
    const auto is_given = [&](Column column) {
        return given.test(static_cast<std::size_t>(column)) && !job.null(column);
    };
    if (is_given(Column::timeout))
        pg::demand(core::check_timeout_cap(job.as_int32(Column::timeout), queue.caps));
    if (is_given(Column::priority) &&
        (type == nullptr || job.as_int32(Column::priority) != type->default_priority))
        pg::demand(core::check_priority_cap(job.as_int32(Column::priority), queue.caps));
    if (!queue.caps.allows_free_jobs && is_given(Column::throttle_factor) && is_free(job) &&
        (type == nullptr || std::stod(type->default_throttle_factor) != 0))
        pg::demand(core::check_factor_cap(0, queue.caps));
}

void demand_job_type(const job::RowValues &job)
{
    if (job.null(Column::job_type))
        HIPQ_RAISE(errcode(ERRCODE_NOT_NULL_VIOLATION), errmsg("a job needs a job_type"));
}

void check_new_job(job::RowValues &job, const catalog::Queue &queue)
{
    static const core::ColumnSet capped = capped_columns();
    check_chosen_values(job);
    check_expiry(job);
    const catalog::JobType *type = queue.find_job_type(job.as_text(Column::job_type));
    check_caps(job, queue, type, capped);
    demand_open_queue(queue, job.as_text(Column::job_type), type);
    if (!job.null(Column::batch_id))
        demand_batches(queue);
    job::complete_job_data(job, type);
    catalog::demand_capacity_for_type(queue, job.as_text(Column::job_type));
    HIPQ_POINT("in-enqueue");
}

void give_id(job::RowValues &job, const catalog::Catalogue &catalogue, const catalog::Queue &queue)
{
    set_id(job, catalogue, queue);
    fill_traceparent(job);
}

void give_drawn_id(job::RowValues &job, std::int64_t id, const catalog::Queue &queue)
{
    if (has_accepted_id(job) && accepted.waits_for.has_value())
        job.set(Column::waits_for,
                pg::call([] { return job::text_datum(core::name(*accepted.waits_for)); }));
    if (has_accepted_id(job) && accepted.batch_id.has_value())
        job.set(Column::batch_id, Int64GetDatum(*accepted.batch_id));
    if (has_accepted_id(job) && accepted.schedule_time.has_value())
        job.set(Column::schedule_time, TimestampTzGetDatum(accepted.schedule_time->value));
    job.set(Column::id, Int64GetDatum(id));
    nodes::fill_shard_key(job, queue);
    fill_traceparent(job);
}

void fill_new_job(job::RowValues &job, const KnownCatalogue &catalogue, const catalog::Queue &queue)
{
    const job::RowValues &start =
        start_values(catalogue, queue, queue.find_job_type(job.as_text(Column::job_type)));
    for (std::size_t i = 0; i < core::column_count; ++i) {
        const auto column = static_cast<Column>(i);
        if (!start.null(column))
            fill(job, column, start.value(column));
    }
    const Datum transaction_start = TimestampTzGetDatum(::GetCurrentTransactionStartTimestamp());
    for (const Column column :
         {Column::scheduled_run_time, Column::created_time, Column::update_time})
        fill(job, column, transaction_start);
    fill(job, Column::state, job::state_datum(core::JobState::initial));
    if (job.null(Column::id)) {
        give_id(job, *catalogue, queue);
        job::note_made_job(job.as_int64(Column::id), queue.id);
    }
}

void note_new_job(Oid leaf, const job::RowValues &job, const catalog::Queue &queue)
{
    job::note_if_waiting(leaf, job, queue);
    job::join_batch(queue, job, job::Written::is_certain);
}

void refuse_ids_in_use(const catalog::Queue &queue)
{
    HIPQ_RAISE(errcode(ERRCODE_UNIQUE_VIOLATION),
               errmsg("sequence \"hipq.job_id_seq\" gives ids that are in use"),
               queue.shards == nullptr
                   ? errhint("Use setval() to set it above the largest id in hipq.job.")
                   : errhint("Use setval() to set it above the largest (id >> %d) - %lld in "
                             "hipq.job.",
                             core::place_bits, static_cast<long long>(core::sequence_offset)));
}

}  // namespace hipq::enqueue
