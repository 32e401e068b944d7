// Finds jobs that should have started long ago, and what keeps them.
//
// Reads lane by lane, each from its first job on. First excludes the queues that have no lane
// beginning so early: with many of them, a statement for each takes long. Jobs of a lane differ in
// time windows, throttle key, weight and whether they are for one worker; the conditions are
// checked once for all jobs that have these in common.
#include "monitor/overdue_rows.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_by_queue.hpp"
#include "catalog/queue_statements.hpp"
#include "claim/claim.hpp"
#include "claim/conditions.hpp"
#include "job/aimed_jobs.hpp"
#include "job/find_job.hpp"
#include "monitor/job_conditions.hpp"
#include "settings.hpp"
#include "shared/executors/running_jobs.hpp"

namespace hipq::monitor {

namespace {

constexpr std::int64_t most_counted_of_lane = 10'000;
constexpr std::int64_t most_kinds_of_lane = 100;

// $1 job type, $2 priority, $3 due until then, $4 now, $5 ids of running jobs that were claimed by
// lock, $6 and $7 limits. Jobs that are set aside have an alert of their own.
constexpr const char *late_kinds_sql = R"(
    SELECT (array_agg(late.id ORDER BY late.scheduled_run_time, late.id))[1], min(late.scheduled_run_time), count(*),
           late.time_windows::text, late.throttle_key, (late.throttle_factor * 1000)::bigint, late.is_aimed
    FROM (
        SELECT job.id, job.scheduled_run_time, job.time_windows, job.throttle_key, job.throttle_factor,
               job.state = 'initial' AND )" HIPQ_IS_AIMED R"( AS is_aimed
        FROM {live} AS job
        WHERE {free job} AND job.job_type = $1 AND job.priority = $2::smallint AND job.scheduled_run_time <= $3 AND job.expires_time > $4
          AND job.state IN ('initial', 'retry') AND job.id <> ALL ($5)
          AND NOT EXISTS (
              SELECT FROM hipq.set_aside AS aside WHERE aside.queue_id = job.queue_id AND aside.job_id = job.id AND aside.state = job.state
          )
        ORDER BY job.scheduled_run_time, job.id
        LIMIT $6
    ) AS late
    GROUP BY late.time_windows, late.throttle_key, late.throttle_factor, late.is_aimed
    ORDER BY 2, 1
    LIMIT $7)";

struct Lane {
    const catalog::Queue &queue;
    const claim::LaneHead &head;
};

// Jobs of a lane that have these in common.
struct LateKind {
    job::FoundJob first;
    std::int64_t jobs;
};

std::vector<LateKind> late_kinds_of(const Lane &lane, pg::Time due_until, pg::Time now,
                                    const std::vector<std::int64_t> &running)
{
    std::vector<LateKind> kinds;
    for (const pg::Row &row : catalog::statement_for(lane.queue, late_kinds_sql)
                                  .run(lane.head.job_type, lane.head.priority, due_until, now,
                                       running, most_counted_of_lane, most_kinds_of_lane))
        kinds.push_back({{&lane.queue, row.integer(0), core::JobState::initial, lane.head.job_type,
                          std::string(), row.time(1), pg::infinity, row.text(3), row.text(4),
                          row.integer(5), lane.head.priority, row.boolean(6)},
                         row.integer(2)});
    return kinds;
}

Obstacle obstacle_of(const claim::Condition &condition)
{
    return {condition.kind(), condition.is_meant(), claim::explain(condition)};
}

void add_lane(std::vector<Overdue> &found, const Lane &lane, pg::Time due_until, pg::Time now,
              const std::vector<std::int64_t> &running)
{
    const std::vector<LateKind> kinds = late_kinds_of(lane, due_until, now, running);
    std::int64_t jobs = 0;
    for (const LateKind &kind : kinds)
        jobs += kind.jobs;
    const bool has_more = jobs >= most_counted_of_lane ||
                          static_cast<std::int64_t>(kinds.size()) >= most_kinds_of_lane;
    for (const LateKind &kind : kinds)
        found.push_back({&lane.queue, lane.head.job_type,
                         obstacle_of(decisive_condition(kind.first)), kind.jobs, has_more,
                         kind.first.due});
}

// An unregistered type that no executor or worker can run.
bool is_stray(const catalog::Queue &queue, std::string_view job_type)
{
    const catalog::JobType *type = queue.find_job_type(job_type);
    return type == nullptr ||
           (!type->is_registered && type->handler_kind == catalog::HandlerKind::none &&
            !claim::runs_outside(queue, *type));
}

// Jobs of a lane that are due later are not overdue.
pg::Time due_until(const catalog::Queue &queue, std::string_view job_type, pg::Time now)
{
    return is_stray(queue, job_type) ? pg::infinity
                                     : pg::Time{now.value - settings::alert_waiting.microseconds()};
}

void add_queue(std::vector<Overdue> &found, const catalog::Queue &queue, pg::Time now,
               const std::vector<std::int64_t> &running)
{
    for (const claim::LaneHead &head : claim::lane_heads(queue, now))
        if (const pg::Time until = due_until(queue, head.job_type, now); head.due <= until)
            add_lane(found, {queue, head}, until, now, running);
}

void add_apart(std::vector<Overdue> &found, const catalog::Queue &queue, pg::Time now,
               const std::vector<std::int64_t> &running)
{
    std::vector<Overdue> in_queue;  // stays empty if the queue is given up midway
    catalog::read_or_leave_out(queue, [&] { add_queue(in_queue, queue, now, running); });
    std::move(in_queue.begin(), in_queue.end(), std::back_inserter(found));
}

bool may_have_overdue(const catalog::Queue &queue, pg::Time now)
{
    const auto starts = claim::lane_starts(queue);
    return !starts.has_value() || std::ranges::any_of(*starts, [&](const claim::LaneStart &start) {
        return start.first <= due_until(queue, start.job_type, now);
    });
}

using Queues = std::vector<const catalog::Queue *>;

// Returns all queues after an error; the queue with the error is found later.
Queues queues_to_look_into(const catalog::Catalogue &catalogue, pg::Time now)
{
    Queues all;
    for (const auto &entry : catalogue.queues)
        if (!entry.second.is_dropped)
            all.push_back(&entry.second);
    Queues worth;
    const auto error = pg::in_subtransaction(pg::Ending::rolled_back, [&] {
        for (const catalog::Queue *queue : all)
            if (may_have_overdue(*queue, now))
                worth.push_back(queue);
    });
    return error.has_value() ? all : worth;
}

}  // namespace

std::vector<Overdue> overdue_jobs(const catalog::Catalogue &catalogue, pg::Time now)
{
    std::vector<Overdue> found;
    if (settings::alert_waiting.seconds < 0)
        return found;
    const std::vector<std::int64_t> running = executors::jobs_claimed_by_lock();
    for (const catalog::Queue *queue : queues_to_look_into(catalogue, now))
        add_apart(found, *queue, now, running);
    return found;
}

}  // namespace hipq::monitor
