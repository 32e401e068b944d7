// Lists the conditions of one job, met and not met.
//
// The conditions are those of claim/conditions.hpp. The position in the lane is read where
// executors read: each lane from its frontier on, so that running jobs are not counted and dead
// rows not walked over.
#include "monitor/job_conditions.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "claim/claim.hpp"
#include "claim/conditions.hpp"
#include "core/job/validate.hpp"
#include "job/aimed_jobs.hpp"
#include "job/batches/batch_rows.hpp"
#include "job/dependency_rows.hpp"
#include "job/find_job.hpp"
#include "job/set_aside.hpp"
#include "pg/clock.hpp"
#include "pg/transaction.hpp"
#include "settings.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/registry.hpp"
#include "shared/workers/jobs.hpp"

namespace hipq::monitor {

namespace {

using core::Finding;

// ---- the lane ----

constexpr std::int64_t most_counted_before = 10'000;
constexpr int most_lanes = 1'000;

// $1 job type, $2 priority, $3 and $4 from this key on, or one of the ids in $5, $6 and $7 before
// this key, $8 now, $9 limit, $10 ids to leave out
constexpr const char *count_before_sql = R"(
    SELECT count(*)
    FROM (
        SELECT
        FROM {live} AS job
        WHERE {free job} AND job.id <> ALL ($10) AND job.job_type = $1 AND job.priority = $2::smallint AND (job.scheduled_run_time, job.id) >= ($3, $4)
          AND (job.scheduled_run_time, job.id) < ($6, $7) AND job.state IN ('initial', 'retry') AND job.expires_time > $8
          AND NOT )" HIPQ_IS_AIMED R"(
        UNION ALL
        SELECT
        FROM {live} AS job
        WHERE job.id = ANY ($5) AND job.id <> ALL ($10) AND job.job_type = $1 AND job.priority = $2::smallint
          AND (job.scheduled_run_time, job.id) < ($3, $4) AND (job.scheduled_run_time, job.id) < ($6, $7)
          AND job.state IN ('initial', 'retry') AND job.expires_time > $8
        LIMIT $9
    ) AS earlier)";

// Where the jobs of a lane that may start are.
struct Stretch {
    std::string job_type;
    int priority;
    core::LaneKey from;
    std::vector<std::int64_t> singles{};  // ids of some jobs before that
};

void add_single_keys(Stretch &stretch, std::span<const core::Pocket> pockets, std::int64_t now)
{
    for (const core::Pocket &pocket : pockets)
        if (pocket.range.first == pocket.range.last && pocket.is_ready(now))
            stretch.singles.push_back(pocket.range.first.id);
}

std::optional<Stretch> stretch_of(const lanes::LaneInfo &info, pg::Time now)
{
    const auto lane = lanes::copy_lane(info.ref);
    if (!lane.has_value())
        return std::nullopt;
    Stretch stretch{info.name.type, info.name.priority, lane->places(now.value).from};
    add_single_keys(stretch, {lane->pockets.entries.data(), lane->pockets.count}, now.value);
    add_single_keys(stretch, {lane->inbox.data(), lane->inbox_count}, now.value);
    return stretch;
}

// Returns the stretches of the queue's lanes that are due. Lanes for which shared memory has no
// room are found in the table, as executors find them.
std::vector<Stretch> due_stretches(const catalog::Queue &queue, pg::Time now)
{
    std::vector<Stretch> stretches;
    std::set<std::pair<std::string, int>> known;
    for (const lanes::LaneInfo &info : lanes::list_lanes()) {
        if (info.name.queue_id != queue.id)
            continue;
        known.insert({info.name.type, info.name.priority});
        if (info.due <= now)
            if (auto stretch = stretch_of(info, now))
                stretches.push_back(std::move(*stretch));
    }
    if (lanes::lanes_are_known(queue.id))
        return stretches;
    claim::LanePlace start;
    for (const claim::LaneHead &head : claim::lane_heads(queue, now, start, most_lanes))
        if (!known.contains({head.job_type, head.priority}))
            stretches.push_back({head.job_type, head.priority, {head.due.value, head.id}});
    return stretches;
}

// Jobs of a lane that no executor reads do not delay others.
bool is_read(const catalog::Queue &queue, const std::string &job_type)
{
    return queue.find_pause(job_type) == nullptr &&
           claim::handler_condition(queue, job_type).passed();
}

// They have left their lane.
std::vector<std::int64_t> offered_jobs()
{
    std::vector<std::int64_t> ids;
    for (const workers::ExternalJob &job : workers::list_external_jobs())
        if (!job.is_accepted)
            ids.push_back(job.id);
    return ids;
}

std::int64_t count_before(const job::FoundJob &job, const Stretch &stretch, pg::Time now,
                          std::int64_t limit)
{
    const core::LaneKey due_by = {now.value, core::lane_limit};
    const core::LaneKey own{job.due.value, job.id};
    const core::LaneKey end = stretch.priority < job.priority ? due_by : std::min(own, due_by);
    return catalog::statement_for(*job.queue, count_before_sql)
        .run(stretch.job_type, stretch.priority, pg::Time{stretch.from.time}, stretch.from.id,
             stretch.singles, pg::Time{end.time}, end.id, now, limit, offered_jobs())
        .front()
        .integer(0);
}

std::optional<claim::Condition> set_aside_condition(const job::FoundJob &job)
{
    const auto error = job::why_set_aside(*job.queue, job.id);
    if (!error.has_value())
        return std::nullopt;
    return claim::Condition{Finding::job_is_set_aside, *error};
}

std::string text_of(const job::BatchState &batch)
{
    if (batch.open_until.has_value())
        return "which takes jobs until it is closed, at the latest at " +
               std::string(pg::call([&] { return ::timestamptz_to_str(batch.open_until->value); }));
    if (batch.unfinished.has_value())
        return "whose job " + std::to_string(*batch.unfinished) + " has not ended";
    return "to which an open transaction adds jobs";
}

// The first batch before the job that is not complete.
std::optional<claim::Condition> batch_condition(const catalog::Catalogue &catalogue,
                                                const job::FoundJob &job)
{
    for (const std::int64_t id : job::batches_before(*job.queue, job.id)) {
        const auto batch = job::state_of_batch(catalogue, id);
        if (!batch.has_value() || batch->is_complete())
            continue;
        const std::vector<job::WaitState> states =
            job::wait_states(catalogue, *job.queue, {&job.id, 1});
        if (states.empty())
            return std::nullopt;
        return claim::Condition{
            Finding::waits_for_batch,
            claim::WaitFacts{
                {}, states.front().policy, states.front().on_failure, id, text_of(*batch)}};
    }
    return std::nullopt;
}

claim::Condition wait_condition(const job::FoundJob &job)
{
    const auto catalogue = catalog::catalogue();
    std::vector<std::int64_t> unfinished = job::unfinished_before(*catalogue, *job.queue, job.id);
    if (unfinished.empty())
        return batch_condition(*catalogue, job).value_or(Finding::waits_for_look);
    if (job.waits_for == core::WaitsFor::key)
        return {Finding::waits_for_key, claim::FollowerFacts{unfinished.front()}};
    const std::vector<job::WaitState> states =
        job::wait_states(*catalogue, *job.queue, {&job.id, 1});
    if (states.empty())
        return Finding::waits_for_look;
    return {Finding::waits_for_jobs, claim::WaitFacts{std::move(unfinished), states.front().policy,
                                                      states.front().on_failure}};
}

claim::Condition condition_of_workers(const job::FoundJob &job, pg::Time now)
{
    if (auto offered = claim::offer_condition(job.id, now))
        return *std::move(offered);
    const auto aim = job.is_aimed ? job::aim_of(*job.queue, job.id) : std::nullopt;
    return aim.has_value() ? claim::worker_condition(*job.queue, job.type, *aim)
                           : claim::worker_condition(*job.queue, job.type);
}

// Counts up to a limit.
std::int64_t count_before(const job::FoundJob &job, pg::Time now)
{
    std::int64_t count = 0;
    for (const Stretch &stretch : due_stretches(*job.queue, now))
        if (count <= most_counted_before && stretch.priority <= job.priority &&
            is_read(*job.queue, stretch.job_type))
            count += count_before(job, stretch, now, most_counted_before + 1 - count);
    return count;
}

}  // namespace

claim::Condition lane_condition(const job::FoundJob &job)
{
    const pg::Time now = pg::now();
    if (job.waits_for.has_value() || job.due > now)
        return Finding::enters_lane_when_due;
    if (!memory::is_loaded())
        return Finding::there_is_no_lane;
    const std::int64_t before = pg::as_extension_owner([&] { return count_before(job, now); });
    if (before == 0)
        return Finding::is_first_in_lane;
    return before > most_counted_before
               ? claim::Condition(Finding::many_are_before, most_counted_before)
               : claim::Condition(Finding::others_are_before, before);
}

std::vector<claim::Condition> conditions_of(const job::FoundJob &job)
{
    const claim::JobFacts waiting{job.id,
                                  job.state,
                                  job.type,
                                  job.due,
                                  job.expires,
                                  job.time_windows,
                                  claim::time_zone_of(job.queue->id, job.type),
                                  job.throttle_key,
                                  job.weight};
    std::vector<claim::Condition> conditions{{Finding::job_exists, job.queue}};
    conditions.push_back(claim::state_condition(waiting));
    if (job.state == core::JobState::final)
        return conditions;
    if (auto condition = set_aside_condition(job))  // too rare to be shown always
        conditions.push_back(std::move(*condition));
    if (job.waits_for.has_value())
        conditions.push_back(wait_condition(job));
    const pg::Time now = pg::now();
    conditions.push_back(claim::time_condition(waiting, now));
    if (job.time_windows != core::none_text)
        conditions.push_back(claim::window_condition(waiting, now));
    conditions.push_back(claim::expiry_condition(waiting, now));
    conditions.push_back(claim::loaded_condition());
    conditions.push_back(claim::version_condition());
    conditions.push_back(claim::enabled_condition());
    conditions.push_back(claim::hold_condition());
    if (claim::Condition condition = claim::replica_condition(*job.queue);
        !condition.passed())  // too rare to be shown always
        conditions.push_back(std::move(condition));
    conditions.push_back(claim::queue_condition(*job.queue));
    conditions.push_back(claim::pause_condition(*job.queue, job.type, job.throttle_key));
    const catalog::JobType *type = job.queue->find_job_type(job.type);
    const bool is_outside = type != nullptr && claim::runs_outside(*job.queue, *type);
    if (!is_outside)
        conditions.push_back(claim::owner_condition(*job.queue));
    conditions.push_back(claim::handler_condition(*job.queue, job.type));
    if (const claim::Condition condition = claim::crash_condition(waiting);
        !condition.passed())  // too rare to be shown always
        conditions.push_back(condition);
    if (core::is_waiting(job.state)) {  // a running job has taken its capacity
        for (claim::Condition &condition : claim::throttle_conditions(*job.queue, waiting))
            conditions.push_back(std::move(condition));
        for (claim::Condition &condition : claim::rate_conditions(*job.queue, waiting))
            conditions.push_back(std::move(condition));
        if (auto condition = claim::breaker_condition(*job.queue, job.type))
            conditions.push_back(std::move(*condition));
    }
    conditions.push_back(is_outside ? condition_of_workers(job, now)
                                    : claim::executor_condition(*job.queue));
    return conditions;
}

claim::Condition decisive_condition(const job::FoundJob &job)
{
    std::vector<claim::Condition> conditions = conditions_of(job);
    const auto find = [&](auto &&fits) {
        return std::find_if(conditions.begin(), conditions.end(), fits);
    };
    auto found = find([](const claim::Condition &condition) {
        return !condition.passed() && !condition.is_meant();
    });
    if (found == conditions.end())
        found = find([](const claim::Condition &condition) { return !condition.passed(); });
    return found != conditions.end() ? std::move(*found)
                                     : claim::Condition(core::Finding::others_have_their_turn);
}

const char *first_unmet_condition(const catalog::Queue &queue, const claim::JobFacts &kind)
{
    const catalog::JobType *type = queue.find_job_type(kind.job_type);
    const bool is_outside = type != nullptr && claim::runs_outside(queue, *type);
    if (kind.time_windows != core::none_text && !claim::window_condition(kind, pg::now()).passed())
        return "window";
    const bool may_run_inside =
        settings::max_executors > 0 && claim::owner_condition(queue).passed();
    if (!claim::loaded_condition().passed() || !claim::version_condition().passed() ||
        !claim::enabled_condition().passed() || !claim::hold_condition().passed() ||
        queue.stands_still() || !claim::queue_condition(queue).passed() ||
        (!is_outside && !may_run_inside))
        return "hold";
    if (!claim::pause_condition(queue, kind.job_type, kind.throttle_key).passed())
        return "pause";
    if (!claim::handler_condition(queue, kind.job_type).passed() ||
        (is_outside && claim::service_of(queue.id, kind.job_type).present == 0))
        return "handler";
    const auto all_pass = [](const std::vector<claim::Condition> &limits) {
        return std::ranges::all_of(limits, &claim::Condition::passed);
    };
    if (!all_pass(claim::throttle_conditions(queue, kind)))
        return "throttle";
    if (!all_pass(claim::rate_conditions(queue, kind)))
        return "rate";
    const auto breaker = claim::breaker_condition(queue, kind.job_type);
    return !breaker.has_value() || breaker->passed() ? "none" : "pause";
}

}  // namespace hipq::monitor
