// hipq.schedule and unschedule.
#include "admin/schedules/schedule_functions.hpp"
#include "admin/schedules/cron_entries.hpp"
#include "admin/schedules/own_times.hpp"
#include "admin/schedules/schedule_rows.hpp"
#include "admin/schedules/timing_arguments.hpp"
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

[[noreturn]] void refuse_without_run(const Schedule &schedule)
{
    const bool is_limited = schedule.starts.has_value() || schedule.ends.has_value();
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("cron expression \"%s\" never comes%s", schedule.cron.c_str(),
                      is_limited ? " within the given times" : ""),
               errhint("%s", is_limited ? "Look at starts and ends."
                                        : "Is there such a day in one of these months?"));
}

// Returns when it comes first.
NextRun require_own_run(const Schedule &schedule, pg::Time now)
{
    const auto timing = timing_of(schedule);
    const auto next = timing.has_value() ? next_from_now(schedule, *timing, now) : std::nullopt;
    if (!next.has_value())
        refuse_without_run(schedule);
    return *next;
}

// Uses pg_cron's clock.
pg::Time require_cron_run(const Schedule &schedule)
{
    const auto next =
        next_cron_run(std::get<core::Cron>(core::parse_cron(schedule.cron)), std::nullopt);
    if (!next.has_value())
        refuse_without_run(schedule);
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
    read_timing(arguments, schedule);
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

}  // namespace

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

namespace {

// ---- the functions ----

bool has_same_times(const Schedule &wanted, const Schedule &present)
{
    return present.is_own && wanted.cron == present.cron && wanted.time_zone == present.time_zone &&
           wanted.starts == present.starts && wanted.ends == present.ends;
}

// A schedule that is made again with the same times keeps its next run, which may be due now.
void keep_times(const Schedule &present, Schedule &wanted)
{
    if (!has_same_times(wanted, present))
        return;
    wanted.last_time = present.last_time;
    if (wanted.jitter == present.jitter)
        wanted.next = present.next;
}

// Returns when it comes first.
pg::Time put_own(Schedule &schedule)
{
    if (!schedule.next.has_value())
        schedule.next = require_own_run(schedule, pg::now());
    set_next(schedule.id, schedule.next);
    tell_of_times();
    return schedule.next->due;
}

pg::Time put_times(Schedule &schedule)
{
    if (schedule.is_own)
        return put_own(schedule);
    set_next(schedule.id, std::nullopt);
    put_entry(schedule);
    return require_cron_run(schedule);
}

void demand_teller(const Schedule &schedule)
{
    if (schedule.is_own) {
        (void)require_own_run(schedule, pg::now());
        return;
    }
    (void)require_cron_run(schedule);
    demand_login(schedule.role);
    demand_cron();
}

pg::Time schedule(const pg::Arguments &arguments)
{
    const std::string type = arguments.text("job_type");
    auto catalogue = catalog::catalogue();
    const Queue &queue = enqueue::queue_for(catalogue, arguments.maybe_text("queue"), type);
    catalog::require(queue, Privilege::enqueue);
    Schedule wanted = schedule_of(arguments, queue);
    check_values(arguments, queue, wanted);
    demand_teller(wanted);
    catalog::lock_schedule_name(queue.id, wanted.name);
    const auto present =
        lock_to_change(*catalogue, find_schedule(queue.id, wanted.name, pg::now()));
    if (present.has_value()) {
        wanted.id = present->id;
        keep_times(*present, wanted);
        change_schedule(wanted);
        if (!present->is_own)
            remove_entry(wanted.id);  // it may have another role
    } else {
        wanted.id = add_schedule(wanted, pg::now());
    }
    return put_times(wanted);
}

void unschedule(const std::string &name, const std::optional<std::string> &queue)
{
    const auto catalogue = catalog::catalogue();
    const auto present = lock_to_change(*catalogue, require_schedule(*catalogue, name, queue));
    if (!present.has_value())
        refuse_unknown(name, queue);
    forget_schedule(present->id);
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
