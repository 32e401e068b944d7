// hipq.open_breaker and hipq.close_breaker.
//
// Both lock the row of the breaker in hipq.breaker_state before they look at shared memory, so that
// the scheduler, which writes the row, too, sees what they have ordered.
#include "admin/queues/rate_arguments.hpp"
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/rights.hpp"
#include "claim/conditions.hpp"
#include "core/job/validate.hpp"
#include "job/two_phase.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "shared/executors/breaker_notes.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::admin {

namespace {

using catalog::JobType;
using catalog::Queue;

constinit pg::Statement
    lock_type_of_breaker("SELECT 1 FROM hipq.job_type WHERE queue_id = $1 AND name = $2 FOR KEY "
                         "SHARE");
// Also if it is missing: then it is made.
constinit pg::Statement lock_row(R"(
    INSERT INTO hipq.breaker_state AS state (queue_id, job_type, opened_time, change) VALUES ($1, $2, $3, 0)
    ON CONFLICT (queue_id, job_type) DO UPDATE SET change = state.change
    RETURNING state.change)");
constinit pg::Statement write_row(R"(
    UPDATE hipq.breaker_state
    SET opened_time = $3, open_until = $4, opened_by = $5, reason = $6, change = $7
    WHERE queue_id = $1 AND job_type = $2)");
constinit pg::Statement
    delete_row("DELETE FROM hipq.breaker_state WHERE queue_id = $1 AND job_type = $2");

// The breaker of a type, whose row this transaction has locked.
struct LockedBreaker {
    std::shared_ptr<const catalog::Catalogue> catalogue;
    const Queue *queue;
    const JobType *type;
    core::LimiterName name;
    core::BreakerState state;
    std::int64_t change;  // the number of the next one
};

LockedBreaker lock_breaker_of(const pg::Arguments &arguments)
{
    LockedBreaker locked{catalog::catalogue(), nullptr, nullptr, {}, {}, 0};
    locked.queue = &catalog::require_known_queue(*locked.catalogue, arguments.text("queue"));
    const Queue &queue = *locked.queue;
    catalog::require(queue, catalog::Privilege::control);
    const std::string job_type = arguments.text("job_type");
    locked.type = queue.find_job_type(job_type);
    if (locked.type == nullptr)
        catalog::raise_unknown_type(job_type, queue.full_name());
    demand_one_server_for_breaker(queue.id);
    locked.name = {MyDatabaseId, queue.id, core::name_hash(job_type), 0};
    const std::int64_t written = pg::as_hipq([&] {
        if (lock_type_of_breaker.run(queue.id, job_type).empty())
            catalog::raise_unknown_type(job_type, queue.full_name());
        return lock_row.run(queue.id, job_type, pg::now()).front().integer(0);
    });
    locked.change = std::max(claim::next_breaker_change(locked.name), written + 1);
    // Another process may have changed the row until it was locked; or this transaction has.
    const auto latest = catalog::catalogue();
    const Queue *known = latest->find(queue.id);
    const JobType *type = known == nullptr ? nullptr : known->find_job_type(job_type);
    locked.state =
        type == nullptr ? core::BreakerState::closed : claim::shown_breaker(*known, *type).state;
    return locked;
}

void order(const LockedBreaker &locked, core::BreakerState state, std::int64_t length)
{
    // COMMIT PREPARED would not tell shared memory.
    job::forbid_two_phase(job::NoTwoPhase::breaker_changed);
    const std::int64_t now = pg::steady_now();
    executors::order_breaker(
        {locked.name,
         locked.queue->owner,
         locked.type->breaker,
         {state, {locked.change, now, length == core::never ? core::never : now + length}}});
    wakeup::note_catalogue_change();
}

bool open_breaker(const pg::Arguments &arguments)
{
    const auto length = arguments.maybe_duration("duration");
    if (length.has_value() && *length <= 0)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("duration must be positive"),
                   errhint("Leave it out to open the breaker until hipq.close_breaker()."));
    const std::string reason = arguments.maybe_text("reason").value_or("");
    const LockedBreaker locked = lock_breaker_of(arguments);
    const std::string role = catalog::require_role(catalog::caller());
    const pg::Time now = pg::now();
    pg::as_hipq([&] {
        write_row.run(locked.queue->id, locked.type->name, now,
                      length.has_value() ? std::optional(now + *length) : std::nullopt, role,
                      reason.empty() ? std::string(core::none_text) : reason, locked.change);
    });
    order(locked, core::BreakerState::open, length.value_or(core::never));
    return locked.state != core::BreakerState::open;
}

bool close_breaker(const pg::Arguments &arguments)
{
    const LockedBreaker locked = lock_breaker_of(arguments);
    pg::as_hipq([&] { delete_row.run(locked.queue->id, locked.type->name); });
    if (locked.state == core::BreakerState::closed)
        return false;
    order(locked, core::BreakerState::closed, 0);
    wakeup::note_waiting(locked.queue->owner, pg::now(), pg::infinity);
    return true;
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_open_breaker)
{
    return hipq::pg::return_bool(hipq::admin::open_breaker(hipq::pg::Arguments(fcinfo)));
}

HIPQ_FUNCTION(hipq_close_breaker)
{
    return hipq::pg::return_bool(hipq::admin::close_breaker(hipq::pg::Arguments(fcinfo)));
}
