// Keeps track of the jobs that are for one external worker by name.
//
// Few jobs are aimed, so they are in a table of their own, which is read whole.
#include "job/aimed_jobs.hpp"

#include "catalog/queue_statements.hpp"
#include "core/job/validate.hpp"
#include "pg/demand.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "settings.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::job {

namespace {

constexpr const char *aim_sql =
    "UPDATE {live} AS job SET worker_id = -1 WHERE job.id = $1 AND job.state = 'initial'";

constinit pg::Statement
    insert_aim("INSERT INTO hipq.aimed_job (queue_id, job_id, worker) VALUES ($1, $2, $3)");
constinit pg::Statement
    delete_aimed_jobs("DELETE FROM hipq.aimed_job WHERE queue_id = $1 AND job_id = ANY ($2)");
constinit pg::Statement select_queues_with_aimed_jobs(
    "SELECT DISTINCT aimed.queue_id FROM hipq.aimed_job AS aimed ORDER BY 1");

// If a job has no queue_ttl, its time limit is the setting hipq.queue_ttl: values of its type or
// queue were stored in the job when it was enqueued.
#define HIPQ_AIM_ENDS "job.scheduled_run_time + coalesce(job.queue_ttl, $2) * interval '1 second'"

// $1 queue, $2 seconds
constexpr const char *jobs_sql = R"(
    SELECT aimed.job_id, aimed.worker, job.job_type, job.priority::integer, job.scheduled_run_time, job.ctid, )" HIPQ_AIM_ENDS
                                 R"(,
           job.time_windows::text, job.throttle_key, job.attempt + 1, coalesce(job.queue_ttl, 0)
    FROM hipq.aimed_job AS aimed
    LEFT JOIN {live} AS job ON job.id = aimed.job_id AND job.state = 'initial' AND )" HIPQ_IS_AIMED
                                 R"(
    WHERE aimed.queue_id = $1
    ORDER BY aimed.worker, job.job_type, job.priority, job.scheduled_run_time, job.id)";

// $1 job, $2 seconds, $3 queue
constexpr const char *aim_of_sql = R"(
    SELECT aimed.worker, )" HIPQ_AIM_ENDS R"(
    FROM hipq.aimed_job AS aimed
    JOIN {live} AS job ON job.id = aimed.job_id AND job.state = 'initial' AND )" HIPQ_IS_AIMED R"(
    WHERE aimed.job_id = $1 AND aimed.queue_id = $3)";

void demand_job_type_of_workers(const catalog::Queue &queue, std::string_view job_type)
{
    const catalog::JobType *type = queue.find_job_type(job_type);
    if (type != nullptr && type->is_without_handler())
        return;
    const std::string name(job_type);
    const std::string queue_name = queue.full_name();
    if (type == nullptr)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("a job for one worker needs a job type that is registered: \"%s\" is not",
                          name.c_str()),
                   errhint("Use hipq.register_job_type('%s', '%s', handler_kind => 'notify').",
                           queue_name.c_str(), name.c_str()));
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("jobs of type \"%s\" are not for external workers", name.c_str()),
               errdetail("Their handler runs in the server."), errhint("Leave out \"worker\"."));
}

}  // namespace

void aim(const catalog::Queue &queue, std::string_view job_type, std::int64_t job_id,
         const std::string &worker)
{
    pg::demand(core::check_worker_name(worker));
    demand_job_type_of_workers(queue, job_type);
    pg::as_hipq([&] {
        catalog::statement_for(queue, aim_sql).run(job_id);
        insert_aim.run(queue.id, job_id, worker);
    });
    wakeup::note_aimed_job();
}

std::vector<AimedJob> aimed_jobs(const catalog::Queue &queue)
{
    std::vector<AimedJob> jobs;
    std::vector<std::int64_t> stale;
    pg::as_hipq([&] {
        for (const pg::Row row : catalog::statement_for(queue, jobs_sql)
                                     .run(queue.id, settings::queue_ttl.whole_seconds())) {
            if (row.null(2))
                stale.push_back(row.integer(0));
            else
                jobs.push_back({row.text(1),
                                row.text(2),
                                row.integer32(3),
                                {row.integer(0),
                                 row.place(5),
                                 row.time(4),
                                 false,
                                 0,
                                 0,
                                 {row.integer32(9), row.integer32(10)}},
                                row.time(6),
                                row.text(7),
                                row.text(8)});
        }
        if (!stale.empty())
            delete_aimed_jobs.run(queue.id, stale);
    });
    return jobs;
}

std::vector<int> queues_with_aimed_jobs()
{
    std::vector<int> queues;
    for (const pg::Row row :
         pg::as_extension_owner([] { return select_queues_with_aimed_jobs.run(); }))
        queues.push_back(row.integer32(0));
    return queues;
}

std::optional<Aim> aim_of(const catalog::Queue &queue, std::int64_t job_id)
{
    const pg::Rows rows = pg::as_extension_owner([&] {
        return catalog::statement_for(queue, aim_of_sql)
            .run(job_id, settings::queue_ttl.whole_seconds(), queue.id);
    });
    return rows.empty() ? std::nullopt
                        : std::optional(Aim{rows.front().text(0), rows.front().time(1)});
}

}  // namespace hipq::job
