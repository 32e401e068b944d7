// Keeps the latest crashes of a job type, and holds a type with too many.
//
// Crash times are arrays in the row of the type or the queue. The next crash removes the times that
// are older than the window.
#include "recovery/type_crashes.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "core/recovery/crash_report.hpp"
#include "pg/internal_write.hpp"
#include "settings.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::recovery {

namespace {

constexpr const char *select_types =
    "SELECT DISTINCT job.job_type FROM {live} AS job WHERE job.id = ANY ($1)";

// $3 the crash, $4 the start of the window.
constinit pg::Statement add_type_crash(R"(
    UPDATE hipq.job_type AS type
    SET crash_times = ARRAY(
        SELECT DISTINCT crash.time FROM unnest(type.crash_times || $3) AS crash(time) WHERE crash.time > $4 ORDER BY crash.time)
    WHERE type.queue_id = $1 AND type.name = $2
    RETURNING cardinality(type.crash_times))");
constinit pg::Statement add_letter_crash(R"(
    UPDATE hipq.queue AS queue
    SET dead_letter_crash_times = ARRAY(
        SELECT DISTINCT crash.time
        FROM unnest(queue.dead_letter_crash_times || $2) AS crash(time)
        WHERE crash.time > $3
        ORDER BY crash.time)
    WHERE queue.queue_id = $1
    RETURNING cardinality(queue.dead_letter_crash_times))");
constinit pg::Statement hold_type(R"(
    INSERT INTO hipq.pause (queue_id, job_type, paused_by, paused_time, reason, crashes)
    VALUES ($1, $2, 'hipq', $3, 'its jobs took the server down', $4)
    ON CONFLICT DO NOTHING)");

constinit pg::Statement
    forget_crashes("UPDATE hipq.job_type SET crash_times = '{}' WHERE queue_id = $1 AND name = $2");
constinit pg::Statement end_hold(
    "DELETE FROM hipq.pause WHERE queue_id = $1 AND job_type = $2 AND crashes IS NOT NULL");
constinit pg::Statement
    forget_letter_crashes("UPDATE hipq.queue SET dead_letter_crash_times = '{}' WHERE queue_id = "
                          "$1 AND dead_letter_crash_times <> '{}'");

pg::Time window_before(pg::Time crashed)
{
    return crashed + -core::crash_window;
}

void wait_for_a_moment_only()
{
    pg::call([] {
        (void)::set_config_option("lock_timeout", "100ms", PGC_SUSET, PGC_S_SESSION,
                                  GUC_ACTION_LOCAL, true, 0, false);
    });
}

void hold(const catalog::Queue &queue, const std::string &job_type, pg::Time crashed, int crashes)
{
    if (hold_type.run(queue.id, job_type, crashed, std::int32_t{crashes}).processed() == 0)
        return;  // already paused
    const std::string name = queue.full_name();
    pg::call([&] {
        ereport(WARNING, errcode(ERRCODE_CRASH_SHUTDOWN),
                errmsg("job type \"%s\" of queue \"%s\" is held", job_type.c_str(), name.c_str()),
                errdetail("Its jobs took the server down %d times within 10 minutes.", crashes),
                errhint("Mend its handler, then use hipq.resume(), or give it another one with "
                        "hipq.alter_job_type()."));
    });
}

void report_letter_crashes(const catalog::Queue &queue, int crashes)
{
    const std::string name = queue.full_name();
    pg::call([&] {
        ereport(WARNING, errcode(ERRCODE_CRASH_SHUTDOWN),
                errmsg("the handler of dead letters of queue \"%s\" took the server down",
                       name.c_str()),
                errdetail("It has done so %d times within 10 minutes.", crashes),
                errhint("With hipq.max_type_crashes of them it is not called until hipq.resume() "
                        "or hipq.alter_queue()."));
    });
}

void blame_type(const catalog::Queue &queue, const std::string &job_type, pg::Time crashed)
{
    for (const pg::Row row :
         add_type_crash.run(queue.id, job_type, crashed, window_before(crashed)))
        if (const int crashes = row.integer32(0);
            core::is_held_for_crashes(crashes, settings::max_type_crashes))
            hold(queue, job_type, crashed, crashes);
}

void blame_letter_handler(const catalog::Queue &queue, pg::Time crashed)
{
    for (const pg::Row row : add_letter_crash.run(queue.id, crashed, window_before(crashed)))
        report_letter_crashes(queue, row.integer32(0));
}

std::set<std::string> types_of(const catalog::Queue &queue,
                               const std::vector<std::int64_t> &job_ids)
{
    std::set<std::string> types;
    for (const pg::Row row : catalog::statement_for(queue, select_types).run(job_ids))
        types.insert(row.text(0));
    return types;
}

}  // namespace

void blame_types_of(const catalog::Queue &queue, const TypeCrash &crash)
{
    pg::as_hipq([&] {
        wait_for_a_moment_only();
        const std::set<std::string> types = types_of(queue, crash.job_ids);
        const bool is_clear = !crash.with_others && types.size() <= 1;
        const std::set<std::string> before =
            is_clear ? types : types_of(queue, crash.earlier_suspects);
        for (const std::string &type : types)
            if (before.contains(type))
                blame_type(queue, type, crash.time);
        if (is_clear && types.empty())
            blame_letter_handler(queue, crash.time);
    });
}

void forget_type_crashes(int queue_id, std::string_view job_type)
{
    pg::as_hipq([&] {
        forget_crashes.run(queue_id, job_type);
        if (end_hold.run(queue_id, job_type).processed() > 0)
            wakeup::note_resumed_key(queue_id);
    });
}

bool forget_dead_letter_crashes(int queue_id)
{
    return pg::as_hipq([&] { return forget_letter_crashes.run(queue_id).processed() > 0; });
}

}  // namespace hipq::recovery
