// Checks what job types need to run: handlers, time windows, a queue_ttl that can be kept.
#include "catalog/cache.hpp"
#include "catalog/handler.hpp"
#include "claim/claim.hpp"
#include "claim/conditions.hpp"
#include "core/job/validate.hpp"
#include "monitor/doctor/findings.hpp"
#include "pg/clock.hpp"
#include "pg/quote.hpp"
#include "retry/retry.hpp"
#include "settings.hpp"
#include "shared/lanes/run_time_table.hpp"

namespace hipq::monitor {

namespace {

using catalog::JobType;
using catalog::Queue;

template <class See>
void for_each_queue(const See &see)
{
    const auto catalogue = catalog::catalogue();
    for (const auto &[id, queue] : catalogue->queues)
        if (!queue.is_dropped)
            see(queue);
}

template <class See>
void for_each_type(const See &see)
{
    for_each_queue([&](const Queue &queue) {
        for (const auto &[name, type] : queue.job_types())
            see(queue, type);
    });
}

std::string subject_of(const Queue &queue)
{
    return "queue \"" + queue.full_name() + "\"";
}

std::string subject_of(const Queue &queue, const JobType &type)
{
    return "job type \"" + type.name + "\" of queue \"" + queue.full_name() + "\"";
}

// Returns the statement that grants the queue owner the right to run a stored handler. NULL: there
// is no such routine, or the owner has the right.
constexpr const char *grant_sql = R"(
    SELECT CASE
        WHEN NOT has_function_privilege($2, routine.oid, 'EXECUTE')
            THEN format('GRANT EXECUTE ON ROUTINE %s TO %I', routine.oid::regprocedure, pg_get_userbyid($2))
        WHEN NOT has_schema_privilege($2, routine.pronamespace, 'USAGE')
            THEN format('GRANT USAGE ON SCHEMA %I TO %I', routine.pronamespace::regnamespace::text, pg_get_userbyid($2))
    END
    FROM pg_proc AS routine
    WHERE routine.oid = to_regprocedure($1))";

std::optional<std::string> grant_for(const Queue &queue, const std::string &handler)
{
    const pg::Rows rows = pg::run_once(grant_sql, handler, queue.owner);
    return rows.empty() ? std::nullopt : rows.front().maybe_text(0);
}

void add_problem(Diagnoses &found, const Queue &queue, const std::string &subject,
                 const std::string &what, const std::string &handler, const std::string &problem,
                 const char *mend)
{
    found.push_back(
        {Severity::error, subject, "missing handler", what + " cannot run: " + problem + ".",
         std::string("Make the function again, grant its use, or name another with ") + mend + ".",
         grant_for(queue, handler), queue.id});
}

void look_at_handlers(Diagnoses &found)
{
    for_each_type([&](const Queue &queue, const JobType &type) {
        std::string problem;
        if (!type.is_without_handler() && !claim::runs_outside(queue, type) &&
            !catalog::resolve_handler(queue, type, &problem).has_value())
            add_problem(found, queue, subject_of(queue, type), "Its handler", type.handler, problem,
                        "hipq.alter_job_type()");
        if (type.retry_handler != core::none_text &&
            !catalog::resolve_retry_handler(queue, type, &problem).has_value())
            add_problem(found, queue, subject_of(queue, type), "Its retry handler",
                        type.retry_handler, problem, "hipq.alter_job_type()");
    });
}

void look_at_dead_letter_handlers(Diagnoses &found)
{
    for_each_queue([&](const Queue &queue) {
        std::string problem;
        if (queue.handles_dead_letters() &&
            !catalog::resolve_dead_letter_handler(queue, &problem).has_value())
            add_problem(found, queue, subject_of(queue), "Its handler of dead letters",
                        queue.dead_letter_handler, problem, "hipq.alter_queue()");
    });
}

// A registered type waits for its handler or its workers; the name of another one is most likely
// misspelt.
void look_at_types_without_handler(Diagnoses &found)
{
    for_each_type([&](const Queue &queue, const JobType &type) {
        if (type.handler_kind != catalog::HandlerKind::none || claim::runs_outside(queue, type))
            return;
        if (!type.is_registered)
            found.push_back({Severity::warning, subject_of(queue, type), "unregistered type",
                             "There are jobs of it, and nobody has registered it: they wait.",
                             "If the name is a slip, hipq.cancel_jobs() ends them; if not, give it "
                             "a handler with hipq.register_job_type().",
                             std::nullopt, queue.id});
        else
            found.push_back({Severity::warning, subject_of(queue, type), "no handler",
                             "It has no handler, and no external worker serves it: its jobs wait.",
                             "Give it a handler with hipq.alter_job_type(), or start a worker.",
                             std::nullopt, queue.id});
    });
}

void look_at_workers(Diagnoses &found)
{
    for_each_type([&](const Queue &queue, const JobType &type) {
        if (type.handler_kind == catalog::HandlerKind::notify &&
            claim::service_of(queue.id, type.name).present == 0)
            found.push_back({Severity::information, subject_of(queue, type), "no worker",
                             "No external worker serves it: its jobs wait.", "Start a worker.",
                             std::nullopt, queue.id});
    });
}

// If the type, queue or instance is set to 0, that is intended.
bool has_no_retries_by_default(const Queue &queue, const JobType &type)
{
    return settings::max_retries == 0 && !type.max_retries.has_value() &&
           !queue.max_retries.has_value() && type.retry_handler == core::none_text &&
           !retry::what_stops_retries(queue, &type).has_value();
}

void look_at_retries(Diagnoses &found)
{
    for_each_type([&](const Queue &queue, const JobType &type) {
        if (!type.is_registered || !claim::runs_outside(queue, type) ||
            !has_no_retries_by_default(queue, type))
            return;
        found.push_back(
            {Severity::information, subject_of(queue, type), "no retries",
             "Its max_retries is 0, which is the default: a job whose external worker crashes or "
             "is "
             "restarted has failed for good.",
             "Allow some, of the type, queue or instance, or for all by hipq.max_retries. If none "
             "is meant, say so: max_retries => 0.",
             "SELECT hipq.alter_job_type(" + pg::quote_literal(queue.full_name()) + ", " +
                 pg::quote_literal(type.name) + ", max_retries => 3)",
             queue.id});
    });
}

void look_at_windows(Diagnoses &found)
{
    const pg::Time now = pg::now();
    for_each_type([&](const Queue &queue, const JobType &type) {
        const char *problem =
            claim::start_window(type.default_time_windows, type.time_zone, now).problem;
        if (problem != nullptr)
            found.push_back({Severity::error, subject_of(queue, type), "unclear time windows",
                             "Nobody can tell when its time windows \"" +
                                 type.default_time_windows + "\" are open: " + problem + ".",
                             "Give them anew with hipq.alter_job_type(), in a time zone that "
                             "pg_timezone_names has.",
                             std::nullopt, queue.id});
    });
}

// Uses the rule of register_job_type(), with the current run times.
void look_at_queue_ttl(Diagnoses &found)
{
    for_each_type([&](const Queue &queue, const JobType &type) {
        const auto ttl = type.queue_ttl.has_value() ? type.queue_ttl : queue.queue_ttl;
        const auto run = ttl.has_value() && claim::runs_outside(queue, type)
                             ? lanes::run_time(queue.id, type.name)
                             : std::nullopt;
        if (!run.has_value() || std::int64_t{*ttl} * USECS_PER_SEC >= 2 * *run)
            return;
        const std::string enough = std::to_string((2 * *run + USECS_PER_SEC - 1) / USECS_PER_SEC);
        found.push_back(
            {Severity::warning, subject_of(queue, type), "short queue_ttl",
             "A job that is given to a worker has to be accepted within " + std::to_string(*ttl) +
                 " s, and jobs of the type run for half of that or longer: a worker that has one "
                 "in "
                 "flight may not get round to the next in time.",
             "Give at least twice the run time.",
             "SELECT hipq.alter_job_type(" + pg::quote_literal(queue.full_name()) + ", " +
                 pg::quote_literal(type.name) + ", queue_ttl => '" + enough + " s')",
             queue.id});
    });
}

}  // namespace

std::span<const Look> handler_looks()
{
    static constexpr Look looks[] = {
        {"handlers", Audience::monitors, look_at_handlers},
        {"handlers of dead letters", Audience::monitors, look_at_dead_letter_handlers},
        {"job types without a handler", Audience::monitors, look_at_types_without_handler},
        {"external workers", Audience::monitors, look_at_workers},
        {"retries of external workers", Audience::monitors, look_at_retries},
        {"time windows", Audience::monitors, look_at_windows},
        {"queue_ttl", Audience::monitors, look_at_queue_ttl},
    };
    return looks;
}

}  // namespace hipq::monitor
