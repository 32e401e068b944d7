// hipq.schedule, unschedule, the function that pg_cron calls at each run, and functions of the
// view.
#include "admin/schedules/cron_entries.hpp"
#include "admin/schedules/schedule_rows.hpp"
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/name_lock.hpp"
#include "catalog/rights.hpp"
#include "catalog/visible_queues.hpp"
#include "core/job/validate.hpp"
#include "core/schedules/cron.hpp"
#include "enqueue/enqueue.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/subtransaction.hpp"
#include "pg/time_zone.hpp"

namespace hipq::admin {

namespace {

using catalog::Privilege;
using catalog::Queue;

// ---- when to run ----

core::Cron require_cron(const std::string &text)
{
    const auto parsed = core::parse_cron(text);
    if (const auto *problem = std::get_if<core::ParseProblem>(&parsed))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("invalid cron expression \"%s\"", text.c_str()),
                   errdetail("At position %zu: %s.", problem->position, problem->message.c_str()),
                   errhint("Write minute, hour, day of month, month and day of week, such as '0 3 "
                           "* * mon-fri'; or '@hourly', "
                           "'@daily', '@weekly', '@monthly', '@yearly'; or with pg_cron 1.5 or "
                           "newer '30 seconds'."));
    const auto &cron = std::get<core::Cron>(parsed);
    if (cron.has_second_field)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("invalid cron expression \"%s\"", text.c_str()),
                   errdetail("pg_cron knows no field of seconds."));
    return cron;
}

// Uses pg_cron's clock. Returns nothing if it never runs, or the server does not know the zone.
std::optional<pg::Time> next_run(const core::Cron &cron, std::optional<pg::Time> last)
{
    const pg::Time now{::GetCurrentTimestamp()};  // pg_cron ignores hipq.clock_offset
    const auto zone = pg::TimeZone::find(cron_time_zone());
    if (!zone.has_value())
        return std::nullopt;
    const pg::Time from = cron.seconds > 0 ? last.value_or(now) : now;
    const auto next = core::next_run(cron, *zone, from.value);
    return next.has_value() ? std::optional(std::max(pg::Time{*next}, now)) : std::nullopt;
}

pg::Time require_next_run(const std::string &text)
{
    const auto next = next_run(require_cron(text), std::nullopt);
    if (!next.has_value())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("cron expression \"%s\" never comes", text.c_str()),
                   errhint("Is there such a day in one of these months?"));
    return *next;
}

// ---- the job ----

std::optional<std::int16_t> priority_of(const std::optional<std::int32_t> &given)
{
    if (given.has_value())
        pg::demand(core::check_priority(*given));
    return given.has_value() ? std::optional(static_cast<std::int16_t>(*given)) : std::nullopt;
}

Schedule schedule_of(const pg::Arguments &arguments, const Queue &queue)
{
    Schedule schedule{0,
                      arguments.text("name"),
                      arguments.text("cron", core::most_cron),
                      catalog::caller(),
                      queue.id,
                      arguments.maybe_text("job_key").value_or(arguments.text("name")),
                      arguments.raw("job_data", JSONBOID)};
    schedule.options = {arguments.text("job_type"),
                        std::nullopt,
                        priority_of(arguments.maybe_int("priority")),
                        arguments.maybe_seconds("timeout"),
                        enqueue::throttle_factor_of(arguments.maybe_double("throttle_factor")),
                        arguments.maybe_text("time_windows", core::most_time_windows),
                        arguments.maybe_int("max_retries"),
                        std::nullopt,
                        arguments.maybe_text("throttle_key")};
    schedule.expires_after = pg::interval_of(arguments.maybe_duration("expires_after"));
    return schedule;
}

void check_name(const std::string &name)
{
    constexpr std::size_t longest = 63;
    if (name.empty() || name.size() > longest)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_NAME),
                   errmsg("the name of a schedule has from 1 to %zu bytes", longest));
}

// Enqueues a job and rolls that back, so that a later run's error is raised now.
void try_to_enqueue(const Queue &queue, const Schedule &schedule)
{
    const auto error = pg::in_subtransaction(pg::Ending::rolled_back, [&] {
        enqueue::enqueue(queue, schedule.options, schedule.data, std::nullopt,
                         enqueue::OnDuplicate::error);
    });
    if (error.has_value())
        throw *error;  // NOLINT(cert-err60-cpp): as it came
}

void check_values(const pg::Arguments &arguments, const Queue &queue, const Schedule &schedule)
{
    check_name(schedule.name);
    if (const auto expires_after = arguments.maybe_duration("expires_after"))
        catalog::check_delay("expires_after", *expires_after);
    if (schedule.job_key != core::none_text)
        pg::demand(core::check_job_key(schedule.job_key));
    try_to_enqueue(queue, schedule);
}

// pg_cron connects as the role.
void demand_login(Oid role)
{
    const std::string name = catalog::require_role(role);
    const bool may_log_in = pg::call([&] {
        HeapTuple tuple = ::SearchSysCache1(AUTHOID, ObjectIdGetDatum(role));
        const bool may = HeapTupleIsValid(tuple) &&
                         reinterpret_cast<Form_pg_authid>(GETSTRUCT(tuple))->rolcanlogin;
        if (HeapTupleIsValid(tuple))
            ::ReleaseSysCache(tuple);
        return may;
    });
    if (!may_log_in)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("role \"%s\" may not log in", name.c_str()),
                   errdetail("A schedule enqueues as the role that has made it."),
                   errhint("SET ROLE to one that may, or ALTER ROLE ... LOGIN."));
}

// ---- ownership ----

bool acts_as(Oid role)
{
    return pg::call([&] { return ::has_privs_of_role(catalog::caller(), role); });
}

// The maker and the queue owner may change a schedule.
bool may_change(const catalog::Catalogue &catalogue, const Schedule &schedule)
{
    const Queue *queue = catalogue.find(schedule.queue_id);
    return acts_as(schedule.role) ||
           (queue != nullptr && catalog::acts_as_owner(catalog::caller(), *queue));
}

void demand_change(const catalog::Catalogue &catalogue, const Schedule &schedule)
{
    if (may_change(catalogue, schedule))
        return;
    const std::string title = title_of(catalogue, schedule.name, schedule.queue_id);
    HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
               errmsg("%s belongs to others", title.c_str()),
               errdetail("It can be changed by the role that has made it, and by the queue owner."),
               errhint("Choose another name."));
}

// Returns nothing if there is none. Raises 42501, without locking it, for a schedule of others,
// which must go on running.
std::optional<Schedule> lock_to_change(const catalog::Catalogue &catalogue,
                                       std::optional<Schedule> present)
{
    if (present.has_value()) {
        demand_change(catalogue, *present);
        present = lock_schedule(present->id, pg::now());
    }
    if (present.has_value())
        demand_change(catalogue, *present);  // it may have another role by now
    return present;
}

// ---- finding by name ----

bool may_know(const catalog::Catalogue &catalogue, const Schedule &schedule)
{
    const Queue *queue = catalogue.find(schedule.queue_id);
    return may_change(catalogue, schedule) ||
           (queue != nullptr && catalog::may(catalog::caller(), *queue, Privilege::read));
}

[[noreturn]] void refuse_unknown(const std::string &name, const std::optional<std::string> &queue)
{
    const std::string where = queue.has_value() ? " of queue \"" + *queue + "\"" : "";
    HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
               errmsg("schedule \"%s\"%s does not exist", name.c_str(), where.c_str()),
               errhint("View hipq.schedules lists those of the queues that you may read."));
}

// Returns the only schedule that the caller may change; if there is none, one of the others.
Schedule only_one(const catalog::Catalogue &catalogue, std::vector<Schedule> schedules)
{
    const auto others =
        std::stable_partition(schedules.begin(), schedules.end(), [&](const Schedule &schedule) {
            return may_change(catalogue, schedule);
        });
    std::vector<const Queue *> queues;
    for (auto own = schedules.begin(); own != others; ++own)
        if (const Queue *queue = catalogue.find(own->queue_id))
            queues.push_back(queue);
    if (queues.size() > 1)
        enqueue::refuse_ambiguous(queues, "schedule \"" + schedules.front().name +
                                              "\" exists in several queues");
    return schedules.front();
}

// Finds a schedule that the caller may know of. No queue: in any queue.
Schedule require_schedule(const catalog::Catalogue &catalogue, const std::string &name,
                          const std::optional<std::string> &queue_name)
{
    const Queue *queue = queue_name.has_value() ? catalogue.find(*queue_name) : nullptr;
    std::vector<Schedule> known = find_schedules(name, pg::now());
    std::erase_if(known, [&](const Schedule &schedule) {
        const bool is_elsewhere =
            queue_name.has_value() && (queue == nullptr || queue->id != schedule.queue_id);
        return is_elsewhere || !may_know(catalogue, schedule);
    });
    if (known.empty() && queue_name.has_value())
        catalog::require_known_queue(catalogue, *queue_name);
    if (known.empty())
        refuse_unknown(name, queue_name);
    return only_one(catalogue, std::move(known));
}

// ---- the functions ----

pg::Time schedule(const pg::Arguments &arguments)
{
    const pg::Time next = require_next_run(arguments.text("cron", core::most_cron));
    auto catalogue = catalog::catalogue();
    const Queue &queue =
        enqueue::queue_for(catalogue, arguments.maybe_text("queue"), arguments.text("job_type"));
    catalog::require(queue, Privilege::enqueue);
    Schedule wanted = schedule_of(arguments, queue);
    check_values(arguments, queue, wanted);
    demand_login(wanted.role);
    demand_cron();
    catalog::lock_schedule_name(queue.id, wanted.name);
    const auto present =
        lock_to_change(*catalogue, find_schedule(queue.id, wanted.name, pg::now()));
    if (present.has_value()) {
        wanted.id = present->id;
        change_schedule(wanted);
        remove_entry(wanted.id);  // it may have another role
    } else {
        wanted.id = add_schedule(wanted, pg::now());
    }
    put_entry(wanted);
    return next;
}

void unschedule(const std::string &name, const std::optional<std::string> &queue)
{
    const auto catalogue = catalog::catalogue();
    const auto present = lock_to_change(*catalogue, require_schedule(*catalogue, name, queue));
    if (!present.has_value())
        refuse_unknown(name, queue);
    forget_schedule(present->id);
}

// How long (ms) a run waits for a session that is changing the schedule, or has just enqueued under
// its key. pg_cron runs a limited number of jobs at a time, for all roles together.
constexpr int longest_wait = 10'000;

// Called by pg_cron. Checks the rights that the role has now.
std::string run(int id)
{
    const pg::LockTimeoutScope bounded(longest_wait);
    const pg::Time now = pg::now();
    auto present = find_schedule(id, now);
    if (present.has_value() && acts_as(present->role))
        present = lock_schedule(id, now);
    if (!present.has_value() || !acts_as(present->role))
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("schedule %d does not exist", id),
                   errhint("If pg_cron calls for it, cron.unschedule() removes its job there."));
    const auto catalogue = catalog::catalogue();
    const Queue *queue = catalogue->find(present->queue_id);
    if (queue == nullptr || queue->is_dropped)
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("the queue of schedule \"%s\" does not exist", present->name.c_str()));
    catalog::require(*queue, Privilege::enqueue);
    const enqueue::Enqueued job =
        enqueue::enqueue(*queue, present->options, present->data, present->job_key,
                         enqueue::OnDuplicate::return_holder);
    const bool is_sent = job.action == enqueue::EnqueueAction::sent;
    const bool is_new = is_sent || job.action == enqueue::EnqueueAction::inserted;
    note_run(id, is_new ? RunAction::enqueued : RunAction::skipped, job.id, now);
    if (is_new)
        return (is_sent ? "sent job " : "enqueued job ") + std::to_string(job.id);
    return "skipped: job " + std::to_string(job.id) + " with key \"" + present->job_key +
           "\" has not finished";
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_schedule)
{
    return TimestampTzGetDatum(hipq::admin::schedule(hipq::pg::Arguments(fcinfo)).value);
}

HIPQ_FUNCTION(hipq_unschedule)
{
    const hipq::pg::Arguments arguments(fcinfo);
    hipq::admin::unschedule(arguments.text("name"),
                            arguments.maybe_text(hipq::pg::Argument::later("queue")));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__run_schedule)
{
    return hipq::pg::return_text(
        hipq::admin::run(hipq::pg::Arguments(fcinfo).integer("schedule_id")));
}

HIPQ_FUNCTION(hipq__next_run)
{
    const hipq::pg::Arguments arguments(fcinfo);
    const auto cron = hipq::core::parse_cron(arguments.text("cron", hipq::core::most_cron));
    const auto *readable = std::get_if<hipq::core::Cron>(&cron);
    const auto next = readable == nullptr
                          ? std::nullopt
                          : hipq::admin::next_run(*readable, arguments.maybe_time("last_run_time"));
    if (!next.has_value())
        PG_RETURN_NULL();
    return TimestampTzGetDatum(next->value);
}

HIPQ_FUNCTION(hipq__has_cron_entry)
{
    const int id = hipq::pg::Arguments(fcinfo).integer("schedule_id");
    const auto schedule = hipq::admin::find_schedule(id, hipq::pg::now());
    const bool is_visible = schedule.has_value() &&
                            hipq::catalog::VisibleQueues().readable(schedule->queue_id) != nullptr;
    return hipq::pg::return_bool(is_visible && hipq::admin::has_entry(id) &&
                                 !hipq::admin::is_cron_stopped());
}
