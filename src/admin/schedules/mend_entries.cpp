// Mends entries in pg_cron's table, because its functions look up the role that an entry names.
#include "admin/admin.hpp"

#include "admin/schedules/cron_entries.hpp"
#include "catalog/identity.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"

namespace hipq::admin {

namespace {

// Entries for another existing database may be right there: a dump has brought them here.
constexpr const char *mend_sql = R"(
    WITH broken AS (
        SELECT entry.jobid, role.rolname
        FROM cron.job AS entry
        JOIN hipq.schedule ON )" HIPQ_ENTRY_OF_SCHEDULE R"(
        LEFT JOIN pg_roles AS role ON role.oid = schedule.role
        WHERE entry.username IS DISTINCT FROM role.rolname
           OR NOT EXISTS (SELECT FROM pg_database WHERE datname = entry.database)
    ), gone AS (
        DELETE FROM cron.job AS entry USING broken WHERE entry.jobid = broken.jobid AND broken.rolname IS NULL
    )
    UPDATE cron.job AS entry SET username = broken.rolname, database = current_database()
    FROM broken WHERE entry.jobid = broken.jobid AND broken.rolname IS NOT NULL)";

constexpr std::int64_t pause = USECS_PER_MINUTE;

}  // namespace

bool mend_entries()
{
    if (!is_cron_working() || catalog::is_held() || !has_cron_schedule())
        return false;
    pg::as_extension_owner([] { pg::run_once(mend_sql); });
    return true;
}

pg::Time look_after_entries(pg::Time now)
{
    static pg::Time next{0};
    static bool has_schedules = false;
    if (now >= next || next > now + pause) {  // or the clock was set back
        next = now + pause;
        process::do_duty(core::Duty::schedules, nullptr,
                         [] { pg::with_transaction([] { has_schedules = mend_entries(); }); });
    }
    return has_schedules ? next : pg::infinity;
}

}  // namespace hipq::admin
