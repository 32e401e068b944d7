// The scheduler's duty for schedules that hipq tells itself.
//
// It knows when the first one is due, and reads the table again then, when a transaction has
// changed a schedule, and once a minute.
#include "admin/admin.hpp"

#include "admin/schedules/due_runs.hpp"
#include "admin/schedules/own_times.hpp"
#include "admin/schedules/run_process.hpp"
#include "catalog/changes.hpp"
#include "pg/error_classes.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"

#include <chrono>

namespace hipq::admin {

namespace {

constexpr std::int64_t read_interval = USECS_PER_MINUTE;
constexpr std::int64_t clock_step = USECS_PER_SEC;  // a clock that goes back by more was set back
constexpr std::int64_t process_interval = 100'000;  // us
constexpr std::int64_t process_retry = USECS_PER_SEC;  // after a process that could not start
constexpr std::int64_t first_delay = 10'000;           // us, for a schedule that was locked
constexpr int most_doublings = 10;
constexpr int most_due_at_once = 100;

// The scheduler has other duties.
constexpr std::chrono::milliseconds longest_look{20};

// A schedule that is due, but locked, or left to a process of its own.
struct PutOff {
    pg::Time until;
    int times;
};

struct OwnRuns {
    std::optional<std::uint64_t> version{};  // of the schedules that were read last; nothing: all
                                             // plans may be wrong
    pg::Time last_look{0};
    pg::Time next_read{0};
    pg::Time next_due{0};
    std::map<int, PutOff> put_off{};
};
constinit OwnRuns *runs = nullptr;  // on the heap: no destructor at exit

// The tables of 0.2.0 lack the columns.
bool has_columns()
{
    const Oid table = catalog::watched_tables().schedule;
    return OidIsValid(table) &&
           pg::call([&] { return ::get_attnum(table, "due_time") != InvalidAttrNumber; });
}

// ---- what was planned under another clock ----

// Whether the next run is not the one that is planned. Without a time zone that the server knows,
// the plan stays.
bool is_planned_wrong(const Schedule &schedule, pg::Time now)
{
    const auto timing = timing_of(schedule);
    return timing.has_value() && next_from_now(schedule, *timing, now) != schedule.next;
}

void plan_one_anew(int id, pg::Time now)
{
    const auto schedule = lock_schedule(id, now);
    if (schedule.has_value() && is_planned_wrong(*schedule, now))
        set_next(id, next_from_now(*schedule, *timing_of(*schedule), now));
}

// Plans those schedules again whose next time is not what it would be now: the clock was set back,
// or the rules of a time zone have changed.
void plan_anew(pg::Time now)
{
    for (const Schedule &schedule : planned_schedules(now))
        if (is_planned_wrong(schedule, now))
            plan_one_anew(schedule.id, now);
}

// ---- due schedules ----

std::vector<std::int64_t> put_off_ids(pg::Time now)
{
    std::vector<std::int64_t> ids;
    for (const auto &[id, entry] : runs->put_off)
        if (entry.until > now)
            ids.push_back(id);
    return ids;
}

void put_off(int id, pg::Time now)
{
    PutOff &entry = runs->put_off[id];
    entry.until = now + (first_delay << std::min(entry.times, most_doublings));
    ++entry.times;
}

void leave_to_process(int id, Oid queue_owner, pg::Time now)
{
    start_run_process(id, queue_owner);
    runs->put_off[id] = {now + process_retry, 0};
}

Oid owner_of_queue_of(int id, pg::Time now)
{
    const auto schedule = find_schedule(id, now);
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue =
        schedule.has_value() ? catalogue->find(schedule->queue_id) : nullptr;
    return queue == nullptr ? InvalidOid : queue->owner;
}

void handle_in_transaction(int id, pg::Time now)
{
    Handled handled = Handled::later;
    Oid owner = InvalidOid;
    pg::with_transaction([&] {
        handled = handle_due(id, Runner::scheduler, now);
        if (handled == Handled::needs_own_process)
            owner = owner_of_queue_of(id, now);
    });
    if (handled == Handled::needs_own_process)
        leave_to_process(id, owner, now);
    else if (handled == Handled::later)
        put_off(id, now);
    else
        runs->put_off.erase(id);
}

void handle(int id, pg::Time now)
{
    try {
        handle_in_transaction(id, now);
    } catch (const pg::Error &error) {
        if (!pg::is_lock_trouble(error))
            throw;
        put_off(id, now);
    }
}

// Returns whether all are handled that can be handled now.
bool handle_all(pg::Time now)
{
    const auto end = std::chrono::steady_clock::now() + longest_look;
    std::vector<int> due;
    pg::with_transaction([&] { due = due_schedules(now, put_off_ids(now), most_due_at_once); });
    std::erase_if(runs->put_off, [&](const auto &entry) {
        return entry.second.until <= now && std::ranges::find(due, entry.first) == due.end();
    });
    for (const int id : due) {
        if (std::chrono::steady_clock::now() >= end)
            return false;
        handle(id, now);
    }
    return due.empty();
}

pg::Time first_return(pg::Time now)
{
    pg::Time next = has_run_processes() ? now + process_interval : pg::infinity;
    for (const auto &[id, entry] : runs->put_off)
        next = std::min(next, entry.until);
    return next;
}

void read_next_due(bool has_handled_all, pg::Time now)
{
    runs->next_read = now + read_interval;
    if (!has_handled_all) {
        runs->next_due = now;
        return;
    }
    pg::with_transaction([&] { runs->next_due = next_due_time(put_off_ids(now)); });
}

void look(pg::Time now)
{
    const bool must_plan_anew = !runs->version.has_value();
    const std::uint64_t version = catalog::versions().schedules;
    bool has_tables = false;
    pg::with_transaction([&] {
        (void)catalog::catalogue();  // it knows the tables
        has_tables = has_columns();
        if (has_tables && must_plan_anew)
            plan_anew(now);
    });
    if (has_tables)
        read_next_due(handle_all(now), now);
    else
        runs->next_due = pg::infinity;
    runs->version = version;
}

void forget_ended_processes()
{
    for (const int id : ended_run_processes()) {
        runs->put_off.erase(id);
        runs->next_due = pg::Time{0};
    }
}

}  // namespace

pg::Time look_after_runs(pg::Time now)
{
    if (runs == nullptr)
        runs = new OwnRuns();
    forget_ended_processes();
    if (now + clock_step < runs->last_look) {  // the clock was set back
        runs->version.reset();
        runs->put_off.clear();
    }
    runs->last_look = now;
    const bool must_read = runs->version != catalog::versions().schedules ||
                           now >= std::min({runs->next_read, runs->next_due, first_return(now)});
    if (must_read && !process::do_duty(core::Duty::runs, nullptr, [&] { look(now); }))
        return pg::infinity;  // process::next_duty() says when
    return std::min(runs->next_due, first_return(now));
}

}  // namespace hipq::admin
