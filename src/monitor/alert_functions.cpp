// Lists the alerts that are in shared memory: the rows of hipq._alerts().
#include "catalog/cache.hpp"
#include "catalog/queue_lock.hpp"
#include "catalog/visible_queues.hpp"
#include "monitor/alerts_on_rates.hpp"
#include "pg/arguments.hpp"
#include "shared/databases/duties_set_aside.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::monitor {

namespace {

struct AlertText {
    memory::Alert alert;
    const char *name;
    const char *detail;
    const char *hint;
};

using memory::Alert;

constexpr AlertText alert_texts[] = {
    {Alert::databases_full, "databases",
     "More databases have work than shared memory has room for; they take turns.",
     "Name the databases to serve in hipq.databases."},
    {Alert::jobs_in_flight_full, "jobs in flight", "Executors take fewer jobs at a time.",
     "Raise hipq.max_running."},
    {Alert::decisions_full, "retry decisions",
     "Jobs in state error wait for room before their retry handler is asked.",
     "They are looked at again and again; make retry handlers faster or raise "
     "hipq.max_executors."},
    {Alert::run_times_full, "run times",
     "Not every job type's run time is remembered; such types are claimed by record, "
     "one job at a time.",
     "Declare claim => 'lock' for short types."},
    {Alert::no_worker_slot, "worker slots", "hipq found no free background worker slot.",
     "Raise max_worker_processes."},
    {Alert::executor_unresponsive, "unresponsive",
     "The handler of an executor had to stop and does not even react to SIGTERM.",
     "hipq.executors says which; its code has to check for interrupts."},
    {Alert::start_failures_full, "executors that fail to start",
     "More queue owners have executors that fail to start than are remembered; hipq "
     "tries some more often than it should.",
     "The server's log says why they fail; hipq.why() of a job too."},
    {Alert::lanes_full, "lanes",
     "More queues, job types and priorities have waiting jobs than shared memory has "
     "room for, or than one owner may "
     "have; those jobs are looked for in the table, which is slower.",
     "Raise hipq.max_lanes or hipq.max_owner_share; use fewer priorities."},
    {Alert::cursor_miss, "cursor miss",
     "The audit found a waiting job where no executor would have looked for it; now it "
     "runs.",
     "This is a bug in hipq, or somebody has written to its tables with triggers "
     "switched off. Please report it."},
    {Alert::no_start, "no start",
     "A job does not start although it is due, every condition is met and an executor "
     "is free.",
     "The server's log names it; see hipq.executors, and in pg_stat_activity what these "
     "processes wait for."},
    {Alert::scheduler_late, "scheduler",
     "The scheduler of a database does not look although it should.",
     "The server's log names it; see what it waits for in pg_stat_activity."},
    {Alert::workers_full, "workers",
     "Not all external workers that were registered before the restart have room; those "
     "left out get no jobs.",
     "Raise hipq.max_workers."},
    {Alert::job_set_aside, "job set aside",
     "A job cannot be started, given to a worker, or taken back from where it was left, "
     "or its dead letter cannot be "
     "handled: a database error is against it.",
     "The server's log has the error; the job is tried again from time to time."},
    {Alert::no_worker, "no worker",
     "Jobs are due that external workers run, and none that serves their type may be "
     "given one.",
     "The server's log names the job type; hipq.job_types_detail has how many workers serve "
     "each, hipq.workers_detail how they are."},
    {Alert::mute_worker, "mute worker",
     "An external worker was given a job that it could run, and has said nothing for "
     "hipq.heartbeat_timeout, although its session is there. It gets no more jobs until it does.",
     "hipq.workers_detail says which: it is inactive, and has a pid. Its program hangs; or it has "
     "registered with listen => true through a pooler, and has ended: behind a pooler, register "
     "without listen."},
    {Alert::worker_quota, "worker quota",
     "External workers of one role would take more than its share: of places for "
     "workers, or of jobs in flight. Those of "
     "other roles get theirs.",
     "hipq.workers says who has how many. Raise hipq.max_workers, hipq.max_running or "
     "hipq.max_owner_share."},
    {Alert::marks_full, "commands on databases",
     "More transactions with commands on databases or on the extension are open than "
     "hipq can stand aside for; its "
     "workers may "
     "come back before such a command is done.",
     "End these transactions, or give the command again."},
    {Alert::executor_wanted, "executors", "A queue owner has waited for an executor for over 10 s.",
     "Raise hipq.max_executors."},
    {Alert::no_flight_recorder, "flight recorder",
     "Nothing tells which job crashes the server: no job is charged for it.",
     "The server's log says why the file could not be written; restart the server."},
    {Alert::crash_cases_full, "crash cases",
     "So many jobs ran when the server crashed that not all of them are remembered as "
     "suspects.",
     "Use smaller batches."},
    {Alert::rates_full, "rate limits",
     "More rate limits of queues and job types are in use than shared memory has room for, or than "
     "one owner may have; jobs of the others wait.",
     "Raise hipq.max_rates or hipq.max_owner_share."},
    {Alert::breakers_full, "breakers",
     "More breakers of job types are in use than shared memory has room for, or than one owner may "
     "have; jobs of the others wait.",
     "Raise hipq.max_breakers or hipq.max_owner_share."},
    {Alert::keys_full, "throttle keys",
     "Jobs of more throttle keys wait than shared memory has room for, or than one owner may have; "
     "those of the others are read again and again.",
     "Raise hipq.max_keys or hipq.max_owner_share."},
};

constexpr bool has_text(Alert alert)
{
    return std::ranges::find(alert_texts, alert, &AlertText::alert) != std::end(alert_texts);
}

constexpr bool all_have_texts()
{
    for (std::size_t i = 0; i < memory::alert_count; ++i)
        if (!has_text(static_cast<Alert>(i)))
            return false;
    return true;
}
static_assert(all_have_texts());

const AlertText &text_of(Alert alert)
{
    return *std::ranges::find(alert_texts, alert, &AlertText::alert);
}

// Adds a duty that the scheduler of this database has set aside, or a letter that cannot be taken.
void add_set_aside(pg::ResultSet &result, const catalog::Catalogue &catalogue,
                   const memory::SetAside &aside)
{
    if (aside.duty == core::Duty::letters) {
        result.add(
            "shard", aside.times, aside.first, aside.last,
            std::string("This server cannot take what another one sends, and all that comes "
                        "after it waits: ") +
                aside.error + ".",
            "It is tried again and again. Mend what the error tells of; the server's log has "
            "all of it.");
        return;
    }
    const catalog::Queue *queue = catalogue.find(aside.queue_id);
    const std::string whom =
        queue == nullptr ? "this database" : "queue \"" + queue->full_name() + "\"";
    const std::string duty(core::name(aside.duty));
    if (aside.trouble == core::Trouble::failed || queue == nullptr) {
        result.add(
            "duty set aside", aside.times, aside.first, aside.last,
            "The scheduler cannot " + duty + " of " + whom + ": " + aside.error + ".",
            "It is tried again from time to time, all else goes on. Mend what the error tells of.");
        return;
    }
    const std::string holders = catalog::lock_holders(*queue);
    result.add("locked queue", aside.times, aside.first, aside.last,
               "The scheduler cannot " + duty + " of " + whom + ": " +
                   (holders.empty() ? std::string("a lock was against it.") : holders + "."),
               "Jobs of that queue alone wait meanwhile. End the transaction that holds the lock.");
}

void list_set_aside(pg::ResultSet &result)
{
    const auto catalogue = catalog::catalogue();
    for (const memory::SetAside &aside : databases::list_set_aside())
        add_set_aside(result, *catalogue, aside);
}

// Alerts of a database that has been dropped concern no one any more.
bool is_gone(Oid database)
{
    return OidIsValid(database) &&
           pg::call([&] { return ::get_database_name(database) == nullptr; });
}

void list_alerts(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    if (!catalog::is_monitor())  // the alerts are about all databases
        return;
    for (const memory::PresentAlert &present : memory::present_alerts()) {
        if (is_gone(present.record.database))
            continue;
        const AlertText &text = text_of(present.alert);
        result.add(text.name, present.record.times, present.record.first, present.record.last,
                   text.detail, text.hint);
    }
    list_set_aside(result);
    list_rate_alerts(result);
}

}  // namespace

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq__alerts)
{
    hipq::monitor::list_alerts(fcinfo);
    return hipq::pg::return_void();
}
