// Decides what becomes of the runs of a schedule that are due, and carries it out.
//
// The row of the schedule is locked, and says which run is next. So a run is enqueued once, however
// many processes try. It is enqueued again only if that transaction was rolled back.
#include "admin/schedules/due_runs.hpp"

#include "admin/schedules/own_times.hpp"
#include "admin/schedules/run_schedule.hpp"
#include "pg/error_classes.hpp"
#include "pg/point.hpp"
#include "pg/short_text.hpp"
#include "pg/subtransaction.hpp"

namespace hipq::admin {

namespace {

// Of many missed runs, a transaction enqueues these at most.
constexpr std::size_t most_at_once = 50;

// How often a process may begin a run without an end.
constexpr int most_tries = 3;

core::Plan plan_of(const Schedule &schedule, const Timing &timing, pg::Time now)
{
    const core::DueRuns due{timing.cron,
                            timing.zone,
                            schedule.id,
                            schedule.jitter,
                            schedule.next->time.value,
                            schedule.ends.value_or(pg::infinity).value};
    return core::plan_runs(due, schedule.missed, schedule.missed_within, now.value);
}

void report(const Schedule &schedule, const std::string &error)
{
    if (error == schedule.last_error)
        return;
    const std::string title = title_of(*catalog::catalogue(), schedule.name, schedule.queue_id);
    pg::call([&] {
        ereport(WARNING, errmsg("%s: %s", title.c_str(), error.c_str()),
                errdetail("It goes on with its next time."));
    });
}

// Returns how the run ended. An error about a lock is raised: the run is tried again.
LastRun try_run(const Schedule &schedule, pg::Time time)
{
    LastRun run{RunAction::failed};
    const auto error = pg::in_subtransaction(pg::Ending::kept, [&] {
        const enqueue::Enqueued job = enqueue_run(schedule, time);
        run.action = action_of(job);
        run.job_id = job.id;
    });
    if (!error.has_value())
        return run;
    if (pg::is_lock_trouble(*error) || !pg::is_fault_of_job(*error))
        throw *error;  // NOLINT(cert-err60-cpp): as it came
    run.error = pg::short_message(*error);
    return run;
}

// Runs some of the planned runs. An error about a lock ends it, unless the first one meets it.
struct Ran {
    LastRun last;
    std::size_t count = 0;
};
Ran run_some(const Schedule &schedule, const std::vector<std::int64_t> &runs)
{
    Ran ran{};
    for (; ran.count < std::min(runs.size(), most_at_once); ++ran.count) {
        try {
            ran.last = try_run(schedule, pg::Time{runs[ran.count]});
        } catch (const pg::Error &error) {
            if (ran.count == 0 || !pg::is_lock_trouble(error))
                throw;
            break;
        }
    }
    return ran;
}

std::string too_many_text()
{
    return "more than " + std::to_string(core::most_missed_runs) +
           " runs were missed: the older ones are left out";
}

void carry_out(const Schedule &schedule, const Timing &timing, const core::Plan &plan, pg::Time now)
{
    if (plan.runs.empty()) {
        note_own_run(schedule.id, {RunAction::missed, std::nullopt, {}, true},
                     pg::Time{plan.last_due}, next_after(schedule, timing, pg::Time{plan.last_due}),
                     now);
        return;
    }
    Ran ran = run_some(schedule, plan.runs);
    const pg::Time time{plan.runs[ran.count - 1]};
    const bool is_end = ran.count == plan.runs.size();
    if (ran.last.error.empty() && plan.has_too_many)
        ran.last.error = too_many_text();
    ran.last.keeps_error = plan.runs.front() + core::longest_delay < now.value;  // made up for
    if (!ran.last.error.empty())
        report(schedule, ran.last.error);
    note_own_run(schedule.id, ran.last, time,
                 next_after(schedule, timing, is_end ? pg::Time{plan.last_due} : time), now);
}

// Records a failure that keeps the run from being tried.
void give_up(const Schedule &schedule, const std::optional<Timing> &timing,
             const std::string &error, pg::Time now)
{
    report(schedule, error);
    note_own_run(schedule.id, {RunAction::failed, std::nullopt, error}, schedule.next->time,
                 timing.has_value() ? next_from_now(schedule, *timing, now) : std::nullopt, now);
}

// Whether the scheduler may enqueue its job.
bool needs_own_process(const Schedule &schedule)
{
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue = catalogue->find(schedule.queue_id);
    return queue != nullptr && !queue->is_dropped && enqueue::runs_user_code(*queue);
}

}  // namespace

Handled handle_due(int id, Runner runner, pg::Time now)
{
    const auto schedule = lock_due_schedule(id, now);
    if (!schedule.has_value() || !schedule->next.has_value())
        return Handled::later;
    const auto timing = timing_of(*schedule);
    if (!timing.has_value()) {
        give_up(*schedule, timing, "time zone \"" + schedule->time_zone + "\" does not exist", now);
        return Handled::done;
    }
    const core::Plan plan = plan_of(*schedule, *timing, now);
    if (!plan.runs.empty() && runner == Runner::scheduler && needs_own_process(*schedule)) {
        if (schedule->tries < most_tries)
            return Handled::needs_own_process;
        give_up(*schedule, timing, "the process that ran it has ended, several times", now);
        return Handled::done;
    }
    HIPQ_POINT("before-run-schedule");
    carry_out(*schedule, *timing, plan, now);
    HIPQ_POINT("after-run-schedule");
    return Handled::done;
}

}  // namespace hipq::admin
