// hipq.retry, reschedule, erase, release_hold: what operators do to a job. hipq.cancel is in
// cancel.cpp.
#include "admin/admin.hpp"
#include "admin/schedules/cron_entries.hpp"
#include "admin/schedules/restore_schedules.hpp"
#include "admin/schedules/schedule_rows.hpp"
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/identity.hpp"
#include "catalog/job_parameters.hpp"
#include "catalog/name_lock.hpp"
#include "catalog/queue_hold.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "enqueue/enqueue.hpp"
#include "job/dead_letter_rows.hpp"
#include "job/dependency_rows.hpp"
#include "job/find_job.hpp"
#include "job/log_rows.hpp"
#include "nodes/nodes.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::admin {

namespace {

using catalog::Privilege;
using job::FoundJob;

std::string state_name(const FoundJob &job)
{
    return std::string(core::name(job.state));
}

// ---- retry ----

// Makes a new job with the values that the old one was given, but without its expiry.
constexpr const char *retry_one_sql = R"(
    INSERT INTO {table} (original_job_id, retry_of, retry_reason, manual_reason, max_retries, job_data{, schedule_time})" HIPQ_GIVEN_COLUMNS("") R"()
    SELECT coalesce(job.original_job_id, job.id), job.id, 'manual_retry', $2, coalesce($4, job.max_retries), coalesce($3, job.job_data){, schedule_time of job})" HIPQ_GIVEN_COLUMNS(
    "job.") R"(
    FROM {table} AS job
    WHERE job.id = $1 AND job.state = 'final'
    ON CONFLICT DO NOTHING
    RETURNING id)";

std::int64_t retry_elsewhere(const catalog::Catalogue &catalogue, std::int64_t id,
                             const std::string &reason, const pg::RawValue &data,
                             const std::optional<std::int32_t> &max_retries,
                             const std::optional<std::string> &queue)
{
    nodes::Call call{"retry", id, {reason, nodes::text_of(data), queue}, queue};
    if (max_retries.has_value())
        call.arguments.insert(call.arguments.end() - 1, std::to_string(*max_retries));
    return std::stoll(nodes::call_for_job(catalogue, call));
}

std::int64_t retry(std::int64_t id, const std::string &reason, pg::RawValue data,
                   const std::optional<std::int32_t> &max_retries,
                   const std::optional<std::string> &queue)
{
    if (max_retries.has_value())
        pg::demand(core::check_max_retries(*max_retries));
    const auto catalogue = catalog::catalogue();
    const auto found = job::find_permitted_job(*catalogue, id, queue, Privilege::operate);
    if (!found.has_value())
        return retry_elsewhere(*catalogue, id, reason, data, max_retries, queue);
    const FoundJob &job = *found;
    const std::string state = state_name(job);
    if (job.state != core::JobState::final)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("job %lld is not final", static_cast<long long>(id)),
                   errdetail("It is in state \"%s\".", state.c_str()),
                   errhint("Use hipq.reschedule() to run a waiting job sooner."));
    if (!data.null) {
        catalog::require(*job.queue,
                         Privilege::enqueue);  // 'operate' does not allow new job_data
        pg::check_job_data(data.value);
        if (const catalog::JobType *type = job.queue->find_job_type(job.type); type != nullptr)
            data = catalog::complete_job_data(*type, data);
    }
    const nodes::MadeJobs made;
    const pg::Rows rows = pg::as_hipq([&] {
        return catalog::statement_for(*job.queue, retry_one_sql).run(id, reason, data, max_retries);
    });
    if (rows.empty() && made.sent().empty())
        HIPQ_RAISE(errcode(ERRCODE_UNIQUE_VIOLATION),
                   errmsg("job type \"%s\" has an unfinished job with key \"%s\"", job.type.c_str(),
                          job.key.c_str()),
                   errhint("Wait until it has finished, or cancel it."));
    const std::int64_t new_id = rows.empty() ? made.sent().front().id : rows.front().integer(0);
    job::note_redriven(*job.queue, {id}, {new_id}, pg::now());
    return new_id;
}

// ---- reschedule ----

constexpr const char *reschedule_sql = R"(
    UPDATE {live} AS job
    SET scheduled_run_time = coalesce($2, job.scheduled_run_time), priority = coalesce($3::smallint, job.priority)
    WHERE job.id = $1 AND job.state IN ('initial', 'retry') AND ($2 IS NULL OR job.expires_time >= $2))";

void check_schedule(const std::optional<pg::Time> &time,
                    const std::optional<std::int32_t> &priority)
{
    if (time.has_value())
        enqueue::demand_point_in_time("scheduled_run_time", *time);
    if (priority.has_value())
        pg::demand(core::check_priority(*priority));
}

// A job that was not found waiting may have started, been moved to another queue, or expire sooner,
// so it is looked up again.
constexpr int most_looks_to_change = 3;

bool update_waiting(const FoundJob &job, const std::optional<pg::Time> &time,
                    const std::optional<std::int32_t> &priority)
{
    return pg::as_hipq([&] {
        return catalog::statement_for(*job.queue, reschedule_sql)
                   .run(job.id, time, priority)
                   .processed() == 1;
    });
}

void reschedule_elsewhere(const catalog::Catalogue &catalogue, std::int64_t id,
                          const std::optional<pg::Time> &time,
                          const std::optional<std::int32_t> &priority,
                          const std::optional<std::string> &queue)
{
    const auto time_text = time.has_value() ? std::optional(nodes::text_of(*time)) : std::nullopt;
    const auto priority_text =
        priority.has_value() ? std::optional(std::to_string(*priority)) : std::nullopt;
    (void)nodes::call_for_job(catalogue,
                              {"reschedule", id, {time_text, priority_text, queue}, queue});
}

void reschedule(std::int64_t id, const std::optional<pg::Time> &time,
                const std::optional<std::int32_t> &priority,
                const std::optional<std::string> &queue)
{
    check_schedule(time, priority);
    const auto catalogue = catalog::catalogue();
    const Privilege needed = priority.has_value() ? Privilege::control : Privilege::operate;
    const auto find = [&] { return job::find_permitted_job(*catalogue, id, queue, needed); };
    auto present = find();
    for (int look = 1;
         present.has_value() && core::is_waiting(present->state) && look <= most_looks_to_change;
         ++look) {
        if (time.has_value())
            enqueue::demand_expiry_after(*time, present->expires);
        if (update_waiting(*present, time, priority))
            return;
        present = find();
    }
    if (!present.has_value()) {
        reschedule_elsewhere(*catalogue, id, time, priority, queue);
        return;
    }
    const std::string present_state = state_name(*present);
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("cannot reschedule job %lld in state \"%s\"", static_cast<long long>(id),
                      present_state.c_str()),
               errdetail("Only a waiting job (initial or retry) can be rescheduled."),
               present->state == core::JobState::final
                   ? errhint("Use hipq.retry() to run it again as a new job.")
                   : 0);
}

// ---- erase ----

constexpr const char *erase_sql =
    "DELETE FROM {table} AS job WHERE job.id = $1 AND job.state = 'final'";
constinit pg::Statement erase_attempts(
    "DELETE FROM hipq.attempt AS attempt WHERE attempt.queue_id = $1 AND attempt.job_id = $2");
constinit pg::Statement erase_dead_letter(
    "DELETE FROM hipq.dead_letter AS letter WHERE letter.queue_id = $1 AND letter.job_id = $2");
constinit pg::Statement
    erase_set_aside("DELETE FROM hipq.set_aside AS aside WHERE aside.job_id = $1");

// Returns whether the caller has any right on the queue; for others its jobs do not exist.
bool may_know_of(const FoundJob &job)
{
    const Oid role = catalog::caller();
    return catalog::may(role, *job.queue, Privilege::operate) ||
           catalog::may(role, *job.queue, Privilege::read) ||
           catalog::may(role, *job.queue, Privilege::enqueue);
}

bool erase(std::int64_t id, const std::optional<std::string> &queue)
{
    const auto catalogue = catalog::catalogue();
    const auto found = job::find_job(*catalogue, id, queue);
    if (!found.has_value())
        return nodes::call(*catalogue, {"erase", id, {queue}, queue}) == "true";
    if (!may_know_of(*found))
        return false;
    const FoundJob job = job::require_job(*catalogue, id, queue, Privilege::control);
    const std::string state = state_name(job);
    if (job.state != core::JobState::final)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("cannot erase job %lld in state \"%s\"", static_cast<long long>(id),
                          state.c_str()),
                   errhint("Use hipq.cancel() first."));
    return pg::as_hipq([&] {
        job::erase_dependencies(*job.queue, id);
        const bool erased = catalog::statement_for(*job.queue, erase_sql).run(id).processed() == 1;
        erase_attempts.run(job.queue->id, id);
        job::erase_log(job.queue->id, id);
        erase_dead_letter.run(job.queue->id, id);
        erase_set_aside.run(id);
        return erased;
    });
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_retry)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return Int64GetDatum(hipq::admin::retry(
        arguments.integer64("id"), arguments.maybe_text("reason").value_or("manual_retry"),
        arguments.raw("job_data", JSONBOID),
        arguments.maybe_int(hipq::pg::Argument::later("max_retries")),
        arguments.maybe_text("queue")));
}

HIPQ_FUNCTION(hipq_reschedule)
{
    const hipq::pg::Arguments arguments(fcinfo);
    hipq::admin::reschedule(arguments.integer64("id"), arguments.maybe_time("scheduled_run_time"),
                            arguments.maybe_int("priority"), arguments.maybe_text("queue"));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_erase)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return BoolGetDatum(
        hipq::admin::erase(arguments.integer64("id"), arguments.maybe_text("queue")));
}

HIPQ_FUNCTION(hipq_release_hold_of_queue)
{
    hipq::catalog::demand_superuser("release the hold");
    const std::string name = hipq::pg::Arguments(fcinfo).text("queue");
    hipq::catalog::lock_queue_name(name);
    const auto catalogue = hipq::catalog::catalogue();
    hipq::catalog::release(hipq::catalog::require_queue(*catalogue, name));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_release_hold)
{
    hipq::catalog::demand_superuser("release the hold");
    hipq::catalog::take_identity();
    hipq::wakeup::note_restore();
    hipq::admin::restore_schedules_if_possible();
    return hipq::pg::return_void();
}
