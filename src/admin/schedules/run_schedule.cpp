// Runs a schedule: for pg_cron, which calls hipq._run_schedule(), and for hipq's own runs.
#include "admin/schedules/run_schedule.hpp"

#include "admin/schedules/cron_entries.hpp"
#include "catalog/rights.hpp"
#include "core/job/validate.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/subtransaction.hpp"
#include "pg/time_zone.hpp"
#include "pg/transaction.hpp"

namespace hipq::admin {

namespace {

// ---- any run ----

void demand_role(Oid role)
{
    const bool exists =
        pg::call([&] { return SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(role)); });
    if (!exists)
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("the role of the schedule does not exist any more"));
}

enqueue::OnDuplicate meeting_holder(const Schedule &schedule)
{
    return schedule.overlap == core::Overlap::after && schedule.job_key != core::none_text
               ? enqueue::OnDuplicate::after_first
               : enqueue::OnDuplicate::return_holder;
}

// ---- runs that pg_cron tells ----

// How long (ms) a run waits for a session that is changing the schedule, or has just enqueued under
// its key. pg_cron runs a limited number of jobs at a time, for all roles together.
constexpr int longest_wait = 10'000;

bool acts_as_role_of(const Schedule &schedule)
{
    return pg::call([&] { return ::has_privs_of_role(catalog::caller(), schedule.role); });
}

// pg_cron does not say which run it is: the last one, if that was a short time ago.
std::optional<pg::Time> time_of_cron_run(const Schedule &schedule)
{
    constexpr std::int64_t longest_delay = USECS_PER_HOUR;
    const auto parsed = core::parse_cron(schedule.cron);
    const auto *cron = std::get_if<core::Cron>(&parsed);
    const auto zone = pg::TimeZone::find(cron_time_zone());
    if (cron == nullptr || cron->seconds > 0 || !zone.has_value())
        return std::nullopt;
    const std::int64_t now = ::GetCurrentTimestamp();  // pg_cron ignores hipq.clock_offset
    std::optional<pg::Time> time;
    for (auto run = core::next_run(*cron, *zone, now - longest_delay);
         run.has_value() && *run <= now; run = core::next_run(*cron, *zone, *run))
        time = pg::Time{*run};
    return time;
}

Schedule lock_for_cron(int id, pg::Time now)
{
    auto present = find_schedule(id, now);
    if (present.has_value() && acts_as_role_of(*present))
        present = lock_schedule(id, now);
    if (!present.has_value() || !acts_as_role_of(*present))
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("schedule %d does not exist", id),
                   errhint("If pg_cron calls for it, cron.unschedule() removes its job there."));
    if (present->is_own)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("hipq itself tells schedule \"%s\"", present->name.c_str()),
                   errhint("If pg_cron calls for it, cron.unschedule() removes its job there."));
    return *present;
}

// Called by pg_cron. Checks the rights that the role has now.
std::string run_for_cron(int id)
{
    const pg::LockTimeoutScope bounded(longest_wait);
    const pg::Time now = pg::now();
    const Schedule schedule = lock_for_cron(id, now);
    const enqueue::Enqueued job = enqueue_run(schedule, time_of_cron_run(schedule));
    note_run(id, action_of(job), job.id, now);
    const std::string which = "job " + std::to_string(job.id);
    if (job.action == enqueue::EnqueueAction::sent)
        return "sent " + which;
    if (action_of(job) == RunAction::enqueued)
        return "enqueued " + which;
    return "skipped: " + which + " with key \"" + schedule.job_key + "\" has not finished";
}

}  // namespace

RunAction action_of(const enqueue::Enqueued &job)
{
    return job.action == enqueue::EnqueueAction::returned ? RunAction::skipped
                                                          : RunAction::enqueued;
}

enqueue::Enqueued enqueue_run(const Schedule &schedule, std::optional<pg::Time> time)
{
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue = catalogue->find(schedule.queue_id);
    if (queue == nullptr || queue->is_dropped)
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("the queue of schedule \"%s\" does not exist", schedule.name.c_str()));
    demand_role(schedule.role);
    pg::as_role(schedule.role, [&] { catalog::require(*queue, catalog::Privilege::enqueue); });
    enqueue::JobOptions options = schedule.options;
    if (queue->has_waits)
        options.schedule_time = time;
    return enqueue::enqueue(*queue, options, schedule.data, schedule.job_key,
                            meeting_holder(schedule));
}

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq__run_schedule)
{
    return hipq::pg::return_text(
        hipq::admin::run_for_cron(hipq::pg::Arguments(fcinfo).integer("schedule_id")));
}
