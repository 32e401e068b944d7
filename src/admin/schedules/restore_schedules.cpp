// hipq.restore_schedules, the part of release_hold about schedules, and the function behind the
// alert.
#include "admin/schedules/restore_schedules.hpp"
#include "admin/schedules/cron_entries.hpp"
#include "admin/schedules/schedule_rows.hpp"
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/visible_queues.hpp"
#include "pg/clock.hpp"
#include "pg/subtransaction.hpp"

namespace hipq::admin {

namespace {

void warn_not_restored(const LostSchedule &lost, const pg::Error &error)
{
    const std::string title = title_of(*catalog::catalogue(), lost.name, lost.queue_id);
    const std::string detail = error.detail().value_or(error.message());
    pg::call([&] {
        ereport(WARNING, errcode(error.sqlerrcode()), errmsg("cannot restore %s", title.c_str()),
                errdetail_internal("%s", detail.c_str()),
                errhint("Make it anew with hipq.schedule(), or end it with hipq.unschedule()."));
    });
}

void warn_of_lost(std::size_t count)
{
    pg::call([&] {
        ereport(
            WARNING, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("%zu schedule(s) do not come: pg_cron does not work from this database", count),
            errhint("When it does, SELECT hipq.restore_schedules()."));
    });
}

// Returns whether pg_cron has it now. An entry with its name may belong to another database or
// role.
bool restore(const LostSchedule &lost)
{
    bool is_there = false;
    const auto error = pg::in_subtransaction(pg::Ending::kept, [&] {
        const auto schedule = lock_schedule(lost.id, pg::now());
        is_there = schedule.has_value();  // it may have been removed since
        if (is_there) {
            remove_entry(schedule->id);
            put_entry(*schedule);
        }
    });
    if (!error.has_value())
        return is_there;
    if (error->sqlerrcode() == ERRCODE_QUERY_CANCELED)
        throw *error;  // NOLINT(cert-err60-cpp): as it came
    warn_not_restored(lost, *error);
    return false;
}

std::int64_t restore_schedules()
{
    catalog::demand_superuser("restore schedules");
    demand_cron();
    const std::vector<LostSchedule> lost = lost_schedules();
    return std::count_if(lost.begin(), lost.end(), restore);
}

void list_lost(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    if (!catalog::is_monitor())
        return;
    for (const LostSchedule &lost : lost_schedules())
        result.add(std::int32_t{lost.id}, lost.name);
}

}  // namespace

void restore_schedules_if_possible()
{
    if (is_cron_working()) {
        restore_schedules();
        return;
    }
    const std::size_t count = lost_schedules().size();
    if (count > 0)
        warn_of_lost(count);
}

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_restore_schedules)
{
    return Int64GetDatum(hipq::admin::restore_schedules());
}

HIPQ_FUNCTION(hipq__is_cron_stopped)
{
    return hipq::pg::return_bool(hipq::catalog::is_monitor() && hipq::admin::has_cron_schedule() &&
                                 hipq::admin::is_cron_stopped());
}

HIPQ_FUNCTION(hipq__lost_schedules)
{
    hipq::admin::list_lost(fcinfo);
    return hipq::pg::return_void();
}
