// Forgets external workers that are gone, and reads workers from the table after a restart.
//
// It runs a statement only when there is a worker to be forgotten, and once after a restart.
#include "external/external.hpp"

#include "catalog/worker_rows.hpp"
#include "pg/transaction.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::external {

namespace {

// A program that is down for a while keeps its registration.
constexpr std::int64_t longest_silence = 24 * 3'600'000'000LL;

// A session of the worker's role may hold its row; the scheduler must not wait for it.
constexpr std::int64_t held_delay = 1'000'000;  // us

// Returns when to try again; infinity: the worker is forgotten.
pg::Time forget(std::int64_t id, pg::Time now)
{
    bool is_forgotten = false;
    pg::with_transaction([&] { is_forgotten = catalog::forget_worker_unless_held(id); });
    return is_forgotten ? pg::infinity : now + held_delay;
}

void report_revoked(const workers::WorkerSlot &slot)
{
    pg::with_transaction([&] {
        pg::call([&] {
            const char *role = ::GetUserNameFromId(slot.role, true);
            ereport(LOG,
                    errmsg("external worker \"%s\" of role \"%s\" is forgotten", slot.name,
                           role == nullptr ? "(dropped)" : role),
                    errdetail("Its role may work on none of the queues that it serves."));
        });
    });
}

// Forgets workers whose role may not work any more: they would keep their places as long as they
// send heartbeats. Their jobs have been taken from them already.
pg::Time forget_revoked(pg::Time now)
{
    pg::Time next = pg::infinity;
    std::shared_ptr<const catalog::WorkerServices> services;
    pg::with_transaction([&] { services = catalog::worker_services(); });
    for (const workers::WorkerSlot &slot : workers::list_workers()) {
        if (slot.state != workers::WorkerState::present || !services->has_no_work(slot.id))
            continue;
        const pg::Time again = forget(slot.id, now);
        if (again == pg::infinity)
            report_revoked(slot);
        next = std::min(next, again);
    }
    return next;
}

// Returns when to forget a worker without jobs in flight; infinity: never by itself.
pg::Time end_of(const workers::WorkerSlot &slot, bool is_recovered)
{
    if (slot.record.depth > 0 || slot.running > 0)
        return pg::infinity;
    if (slot.has_departed && is_recovered)
        return slot.ended;
    if (slot.state == workers::WorkerState::ended)
        return slot.ended + settings::worker_grace.microseconds();
    return slot.record.is_bound ? pg::infinity : pg::Time{slot.record.last_sign} + longest_silence;
}

// Raises an alert for silent workers that are bound to a session.
void tell_of_mute_workers(pg::Time now)
{
    const core::HealthLimits limits = workers::health_limits();
    for (const workers::WorkerSlot &slot : workers::list_workers())
        if (limits.enabled && slot.record.is_bound &&
            core::is_stale(slot.record, limits, now.value))
            memory::raise_alert(memory::Alert::mute_worker);
}

}  // namespace

void read_workers()
{
    if (catalog::must_read_workers())
        pg::with_transaction([] { catalog::read_workers(); });
}

pg::Time forget_workers(pg::Time now)
{
    pg::Time next = pg::infinity;
    if (!workers::has_workers_here())
        return next;
    tell_of_mute_workers(now);
    next = forget_revoked(now);
    const bool is_recovered = databases::is_recovered(MyDatabaseId);
    for (const workers::WorkerSlot &slot : workers::list_workers()) {
        const pg::Time end = end_of(slot, is_recovered);
        if (end <= now)
            next = std::min(next, forget(slot.id, now));
        else
            next = std::min(next, end);
    }
    return next;
}

}  // namespace hipq::external
