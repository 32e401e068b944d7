// Lists jobs that should have started long ago, one row for each cause, hipq._overdue(), and jobs
// that are set aside until an operator acts, hipq._jobs_set_aside().
#include "catalog/cache.hpp"
#include "catalog/visible_queues.hpp"
#include "job/set_aside.hpp"
#include "monitor/overdue_rows.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"

namespace hipq::monitor {

namespace {

using core::ConditionKind;

// What to do about an unmet condition.
constexpr std::array<std::pair<ConditionKind, const char *>, 20> mends{{
    {ConditionKind::loaded, "Add hipq to shared_preload_libraries and restart the server."},
    {ConditionKind::version,
     "Run ALTER EXTENSION hipq UPDATE, or restart the server with the library of that version."},
    {ConditionKind::enabled,
     "Set hipq.enabled to on, name the database in hipq.databases, and reload the configuration."},
    {ConditionKind::hold, "SELECT hipq.release_hold() if the jobs shall run here."},
    {ConditionKind::replica,
     "SELECT hipq.release_hold('instance.queue') if its jobs shall run here from now on; or, of a "
     "node of a sharded instance, CALL hipq.resync_shard(instance, shard) on the router."},
    {ConditionKind::queue_owner,
     "ALTER ROLE ... LOGIN, GRANT CONNECT ON DATABASE, or give the queue another "
     "owner with hipq.alter_queue()."},
    {ConditionKind::queue, "Wait until it is gone."},
    {ConditionKind::pause,
     "SELECT hipq.resume() when it shall go on; view hipq.pauses_detail has who paused it, "
     "and until when."},
    {ConditionKind::handler,
     "Give the job type a handler with hipq.register_job_type(), or start a worker that "
     "serves it. If its name is a "
     "slip, hipq.cancel_jobs() ends its jobs."},
    {ConditionKind::worker,
     "Start workers that serve the job type; view hipq.workers_detail has how they are."},
    {ConditionKind::executor,
     "View hipq.executors has what runs; the server\'s log has why an executor does "
     "not start. Settings "
     "hipq.max_executors and max_worker_processes say how many there may be."},
    {ConditionKind::time_window, "Nothing, if the windows are meant to be so."},
    {ConditionKind::queue_throttle,
     "Nothing, if the limit is meant to be so; hipq.alter_queue() changes it."},
    {ConditionKind::type_throttle,
     "Nothing, if the limit is meant to be so; hipq.alter_job_type() changes it."},
    {ConditionKind::key_throttle,
     "Nothing, if the limit is meant to be so; hipq.alter_job_type() changes it."},
    {ConditionKind::queue_rate,
     "Nothing, if the rate is meant to be so; hipq.alter_queue() changes it."},
    {ConditionKind::type_rate,
     "Nothing, if the rate is meant to be so; hipq.alter_job_type() changes it."},
    {ConditionKind::key_rate,
     "Nothing, if the rate is meant to be so; hipq.alter_job_type() changes it."},
    {ConditionKind::crash, "The server\'s log says which jobs ran when it crashed."},
    {ConditionKind::lane,
     "View hipq.running has what runs before them. More executors start more jobs at a "
     "time (hipq.max_executors)."},
}};

const char *mend_of(ConditionKind kind)
{
    const auto found = std::find_if(mends.begin(), mends.end(),
                                    [&](const auto &mend) { return mend.first == kind; });
    return found == mends.end() ? "hipq.why() of the job tells more." : found->second;
}

bool is_of_database(ConditionKind kind)
{
    return kind == ConditionKind::loaded || kind == ConditionKind::version ||
           kind == ConditionKind::enabled || kind == ConditionKind::hold;
}

// Jobs with one cause in common.
struct KeptJobs {
    Obstacle obstacle;
    std::set<std::string> queues{};
    std::set<std::string> job_types{};
    std::int64_t jobs = 0;
    bool has_more = false;
    pg::Time since = pg::infinity;
};

void add(KeptJobs &kept, const Overdue &overdue)
{
    kept.queues.insert(overdue.queue->full_name());
    kept.job_types.insert(overdue.job_type);
    kept.jobs += overdue.jobs;
    kept.has_more = kept.has_more || overdue.has_more;
    kept.since = std::min(kept.since, overdue.since);
}

// Groups by queue, unless the whole database stands still, and by explanation.
std::vector<KeptJobs> kept_jobs_by_obstacle(const std::vector<Overdue> &all)
{
    std::map<std::pair<int, std::string>, KeptJobs> kept;
    for (const Overdue &overdue : all) {
        const int queue = is_of_database(overdue.obstacle.kind) ? 0 : overdue.queue->id;
        add(kept.try_emplace({queue, overdue.obstacle.explanation},
                             KeptJobs{.obstacle = overdue.obstacle})
                .first->second,
            overdue);
    }
    std::vector<KeptJobs> sorted;
    sorted.reserve(kept.size());
    for (auto &entry : kept)
        sorted.push_back(std::move(entry.second));
    return sorted;
}

constexpr std::size_t most_names = 3;

// 'queue "app.mail"', 'queues "app.mail", "app.web", "app.x" and 2 more'
std::string list_of(const char *what, const std::set<std::string> &names)
{
    std::string text = what;
    if (names.size() > 1)
        text += "s";
    std::size_t count = 0;
    for (const std::string &name : names)
        if (count++ < most_names)
            text.append(count == 1 ? " \"" : ", \"").append(name).append("\"");
    if (names.size() > most_names)
        text.append(" and ").append(std::to_string(names.size() - most_names)).append(" more");
    return text;
}

std::string detail_of(const KeptJobs &kept)
{
    const std::string since = pg::clock_text(kept.since);
    return (kept.has_more ? "At least " : "") + std::to_string(kept.jobs) + " job(s) of " +
           list_of("type", kept.job_types) + " in " + list_of("queue", kept.queues) +
           " wait, the first since " + since + ": " + kept.obstacle.explanation;
}

void list_overdue(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    if (!catalog::is_monitor())
        return;
    const auto catalogue = catalog::catalogue();
    const pg::Time now = pg::now();
    for (const KeptJobs &kept : kept_jobs_by_obstacle(overdue_jobs(*catalogue, now)))
        result.add("jobs wait: " + std::string(core::name(kept.obstacle.kind)),
                   kept.obstacle.is_meant ? "information" : "alarm", kept.jobs, kept.since, now,
                   detail_of(kept), mend_of(kept.obstacle.kind));
}

void list_set_aside(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    const auto catalogue = catalog::catalogue();
    catalog::VisibleQueues visible_queues;
    for (const job::SetAside &job : job::jobs_set_aside(*catalogue))
        if (visible_queues.visible(job.queue_id) != nullptr)
            result.add(std::int32_t{job.queue_id}, job.job_id, job.since, job.error);
}

}  // namespace

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq__overdue)
{
    hipq::monitor::list_overdue(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__jobs_set_aside)
{
    hipq::monitor::list_set_aside(fcinfo);
    return hipq::pg::return_void();
}
