// Writes jobs that another node has sent.
#include "shards/arrivals.hpp"

#include "catalog/queue_statements.hpp"
#include "core/job/bounds.hpp"
#include "enqueue/enqueue.hpp"
#include "job/claimed_job.hpp"
#include "job/current_job.hpp"
#include "job/note_waiting.hpp"
#include "pg/internal_write.hpp"

namespace hipq::shards {

namespace {

using core::Column;

bool is_keyed(const job::RowValues &job)
{
    return job.as_text(Column::job_key) != core::none_text;
}

// Checks columns that no rule for new jobs checks, because new jobs do not have them. Views compute
// with them.
void check_history(job::RowValues &job)
{
    constexpr int most_attempts = std::numeric_limits<int>::max() / 2;
    for (const Column column : {Column::created_time, Column::update_time})
        if (!job.null(column))
            enqueue::demand_point_in_time(core::name(column), pg::Time{job.as_int64(column)});
    for (const Column column : {Column::accepted_time, Column::deadline}) {
        if (job.null(column))
            continue;
        if (job.as_time(column) == pg::infinity)
            job.set(column, TimestampTzGetDatum(pg::far_time.value));
        else
            enqueue::demand_point_in_time(core::name(column), pg::Time{job.as_int64(column)});
    }
    for (const Column column : {Column::attempt, Column::retry_count})
        if (const int count = job.as_int32(column); count < 0 || count > most_attempts) {
            const std::string name(core::name(column));
            HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                       errmsg("%s %d is out of range", name.c_str(), count));
        }
}

// An accepted job stays accepted, whatever has been altered since; but it must be a valid job.
void complete(job::RowValues &job, const enqueue::KnownCatalogue &catalogue,
              const catalog::Queue &queue, bool was_accepted)
{
    job.set(Column::queue_id, Int32GetDatum(queue.id));
    if (!was_accepted) {
        enqueue::demand_job_type(job);
        enqueue::check_new_job(job, queue);
    } else {
        enqueue::check_bounds(job);
    }
    check_history(job);
    enqueue::fill_new_job(job, catalogue, queue);
}

std::string insert_sql()
{
    std::string columns;
    std::string values;
    for (const core::ColumnDefinition &column : core::job_columns) {
        columns.append(columns.empty() ? "" : ", ").append(column.name);
        values.append(values.empty() ? "job." : ", job.").append(column.name);
    }
    return "INSERT INTO {table} (" + columns + ") SELECT " + values +
           " FROM (SELECT ($1).*) AS job ON CONFLICT DO NOTHING";
}

// Used where the tables have more than hipq created.
bool insert_by_sql(const catalog::Queue &queue, const job::RowValues &job)
{
    static const std::string *sql = new std::string(insert_sql());
    return pg::as_hipq([&] {
        const Oid row_type = pg::call([] {
            return ::get_rel_type_id(
                ::get_relname_relid("job", ::get_namespace_oid("hipq", false)));
        });
        return catalog::statement_for(queue, sql->c_str())
                   .run(job::row_of(job, row_type))
                   .processed() > 0;
    });
}

std::vector<bool> insert_by_sql(const catalog::Queue &queue,
                                const std::vector<job::RowValues> &jobs)
{
    std::vector<bool> written;
    written.reserve(jobs.size());
    for (const job::RowValues &job : jobs)
        written.push_back(insert_by_sql(queue, job));
    // A deferred error would be raised at the commit, without a way to know which job caused it.
    pg::as_hipq([] { pg::run_once("SET CONSTRAINTS ALL IMMEDIATE"); });
    return written;
}

}  // namespace

std::vector<bool> accept(const catalog::Queue &queue, std::vector<job::RowValues> jobs,
                         bool was_accepted)
{
    const enqueue::KnownCatalogue catalogue = catalog::catalogue();
    for (job::RowValues &job : jobs)
        complete(job, catalogue, queue, was_accepted);
    auto rows = enqueue::NewRows::open(queue, enqueue::NewRows::With::keys);
    if (!rows.has_value())
        return insert_by_sql(queue, jobs);
    for (const job::RowValues &job : jobs)
        rows->demand_constraints(job);
    std::vector<bool> written(jobs.size(), true);
    std::vector<job::RowValues> unkeyed;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (!is_keyed(jobs[i])) {
            unkeyed.push_back(jobs[i]);
            continue;
        }
        job::make_capacity_for_successor(queue, jobs[i]);
        written[i] = rows->insert_unless_taken(jobs[i]);
        if (written[i])
            job::note_if_waiting(rows->leaf(), jobs[i], queue);
    }
    if (!rows->insert(unkeyed))
        enqueue::refuse_ids_in_use(queue);
    for (const job::RowValues &job : unkeyed)
        job::note_if_waiting(rows->leaf(), job, queue);
    rows->close();
    return written;
}

}  // namespace hipq::shards
