// Checks for the launcher that schedulers look in time.
#include "server/watchdog.hpp"

#include "pg/clock.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/executors/executor_list.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/alerts.hpp"

namespace hipq::server {

namespace {

constexpr std::int64_t until_look = 1'000'000;  // us
constexpr std::int64_t patience_without_a_look = 5'000'000;
constexpr std::int64_t patience_with_a_look =
    60'000'000;  // with very many queues a look takes long

// ---- databases that no scheduler looks at ----

// Returns whether `time` has come. If not, lowers `next` to the time left.
bool is_due(pg::Time time, pg::Time now, std::int64_t &next)
{
    if (time > now)
        next = std::min(next, time.value - now.value);
    return time <= now;
}

// Requests a look at databases with lanes that were not yet due at their schedulers' last look. A
// lane that is paused, or waits for its handler, has been looked at. Returns in how much time
// another lane may need a look.
std::int64_t ask_for_looks_at_lanes()
{
    std::int64_t next = process::longest_wait;
    const pg::Time now = pg::now();
    for (const lanes::DueLane &lane : lanes::due_lanes(now))
        if (is_due(lane.due + until_look, now, next) &&
            databases::last_look(lane.database) < lane.due)
            databases::work_due(lane.database, pg::Time{0});
    return next;
}

// Requests looks at databases in which an executor should have acted for a while
// (executors_about_to_move()), again and again until it acts. The lanes do not show that: a lane
// that has never been read does not know since when a job in it is due, and a job in flight is in
// no lane.
std::int64_t ask_for_looks_at_executors()
{
    std::int64_t next = process::longest_wait;
    const pg::Time now{::GetCurrentTimestamp()};
    for (const executors::AboutToMove &executor : executors::executors_about_to_move()) {
        if (!is_due(executor.since + until_look, now, next))
            continue;
        const pg::Time look = databases::last_look(executor.database);
        if (look != pg::infinity && is_due(look + patience_without_a_look, pg::now(), next))
            databases::work_due(executor.database, pg::Time{0});
    }
    return next;
}

// ---- schedulers that do not look ----

std::string name_of(Oid database)
{
    std::string name;
    pg::with_transaction([&] {
        const char *found = pg::call([&] { return ::get_database_name(database); });
        name = found == nullptr ? std::to_string(database) : found;
    });
    return name;
}

void report(const databases::AwaitedLook &look)
{
    const std::string name = name_of(look.database);
    pg::call([&] {
        ereport(
            WARNING,
            errmsg("scheduler of database \"%s\" with PID %d does not look for work", name.c_str(),
                   look.pid),
            errdetail(look.is_looking
                          ? "Its last look began more than a minute ago: jobs may be due that do "
                            "not start."
                          : "It was to look more than 5 s ago: jobs may be due that do not start."),
            errhint("See in pg_stat_activity what it waits for."));
    });
}

void judge(Watchdog::Late &late, pg::Time now)
{
    if (now < late.since + (late.look.is_looking ? patience_with_a_look : patience_without_a_look))
        return;
    if (!std::exchange(late.is_reported, true))
        report(late.look);
    memory::raise_alert(memory::Alert::scheduler_late, late.look.database);
}

// A late scheduler stays late until it begins a look.
std::int64_t judge_schedulers(Watchdog &watchdog)
{
    const pg::Time now{::GetCurrentTimestamp()};
    std::vector<Watchdog::Late> late;
    for (const databases::AwaitedLook &look : databases::awaited_looks()) {
        const auto known =
            std::find_if(watchdog.late.begin(), watchdog.late.end(),
                         [&](const Watchdog::Late &each) { return each.look == look; });
        late.push_back(known != watchdog.late.end() ? *known : Watchdog::Late{look, now, false});
        judge(late.back(), now);
    }
    watchdog.late = std::move(late);
    return watchdog.late.empty() ? process::longest_wait : patience_without_a_look;
}

}  // namespace

std::int64_t watch_schedulers(Watchdog &watchdog)
{
    if (!settings::enabled)
        return process::longest_wait;
    return std::min(
        {ask_for_looks_at_lanes(), ask_for_looks_at_executors(), judge_schedulers(watchdog)});
}

}  // namespace hipq::server
