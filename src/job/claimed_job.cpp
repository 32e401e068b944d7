// Builds a claimed job from a row.
#include "job/claimed_job.hpp"

#include "job/aimed_jobs.hpp"
#include "job/job_row.hpp"

namespace hipq::job {

namespace {

using core::Column;

// Returns job_data for a handler, detoasted. Short values stay packed, as SQL functions take them.
pg::RawValue data_of(const RowValues &values)
{
    const Datum value = values.value(Column::job_data);
    if (values.null(Column::job_data))
        return {JSONBOID, value, true};
    const auto *content = reinterpret_cast<const varlena *>(DatumGetPointer(value));
    if (!VARATT_IS_EXTERNAL(content) && !VARATT_IS_COMPRESSED(content))
        return {JSONBOID, value};
    return {JSONBOID, pg::call([&] { return PointerGetDatum(PG_DETOAST_DATUM(value)); })};
}

}  // namespace

ClaimedJob job_of(const RowValues &values, Oid row_type, ItemPointerData place)
{
    const pg::Time accepted = values.as_time(Column::accepted_time);
    ClaimedJob job{};
    job.queue_id = values.as_int32(Column::queue_id);
    job.id = values.as_int64(Column::id);
    job.attempt = values.as_int32(Column::attempt);
    job.type = values.as_text(Column::job_type);
    job.key = values.as_text(Column::job_key);
    job.timeout = values.as_int32(Column::timeout);
    job.retry_count = values.as_int32(Column::retry_count);
    job.max_retries = values.as_int32(Column::max_retries);
    job.started =
        accepted == pg::infinity ? pg::Time{values.as_int64(Column::update_time)} : accepted;
    job.error = values.as_text(Column::error);
    job.retry_reason = values.as_text(Column::retry_reason);
    job.place = place;
    job.row_type = row_type;
    job.values = &values;
    job.data = data_of(values);
    if (!values.null(Column::worker_id) && values.as_int64(Column::worker_id) != aimed_worker_id)
        job.worker_id = values.as_int64(Column::worker_id);
    return job;
}

ClaimedJob claimed_job(const pg::Row &row)
{
    const pg::RawValue whole = row.raw(0);
    return job_of(*kept(row_values(whole)), whole.type, {});
}

std::vector<ClaimedJob> claimed_jobs_in_order(const std::vector<std::int64_t> &ids,
                                              const pg::Rows &rows)
{
    std::vector<ClaimedJob> jobs;
    for (const pg::Row row : rows)
        jobs.push_back(claimed_job(row));
    const auto position = [&](const ClaimedJob &job) {
        return std::find(ids.begin(), ids.end(), job.id);
    };
    if (jobs.size() > 1)
        std::sort(jobs.begin(), jobs.end(), [&](const ClaimedJob &left, const ClaimedJob &right) {
            return position(left) < position(right);
        });
    return jobs;
}

std::optional<ClaimedJob> first_claimed_job(const pg::Rows &rows)
{
    return rows.empty() ? std::nullopt : std::optional(claimed_job(rows.front()));
}

pg::RawValue row_of(const ClaimedJob &job)
{
    return row_of(*job.values, job.row_type);
}

std::optional<std::string> traceparent_of(const ClaimedJob &job)
{
    using core::Column;
    return job.values->null(Column::traceparent)
               ? std::nullopt
               : std::optional(std::string(job.values->as_text(Column::traceparent)));
}

std::optional<std::int64_t> batch_of(const ClaimedJob &job)
{
    return job.values->null(Column::batch_id)
               ? std::nullopt
               : std::optional(job.values->as_int64(Column::batch_id));
}

std::optional<pg::Time> schedule_time_of(const ClaimedJob &job)
{
    return job.values->null(Column::schedule_time)
               ? std::nullopt
               : std::optional(pg::Time{job.values->as_int64(Column::schedule_time)});
}

bool is_accepted(const ClaimedJob &job)
{
    return job.values->as_time(core::Column::accepted_time) != pg::infinity;
}

pg::Time deadline_of(const ClaimedJob &job)
{
    return job.values->as_time(core::Column::deadline);
}

}  // namespace hipq::job
