// Looks at the breaker of a type, explains it, and saves it in hipq.breaker_state.
//
// Shared memory decides. A new entry learns from the row, which the catalogue has, what the breaker
// was; so it outlives a restart, a crash and a failover.
#include "claim/type_breaker.hpp"

#include "claim/conditions.hpp"
#include "core/limits/breaker_text.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "settings.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::claim {

namespace {

core::LimiterName name_of(const catalog::Queue &queue, std::string_view job_type)
{
    return {MyDatabaseId, queue.id, core::name_hash(job_type), 0};
}

// ---- the clock that is never set back, and that of the tables ----

std::int64_t steady_of(pg::Time time)
{
    return time == pg::infinity ? core::never : pg::steady_now() + (time.value - pg::now().value);
}

pg::Time clock_of(std::int64_t steady)
{
    return steady == core::never ? pg::infinity : pg::now() + (steady - pg::steady_now());
}

core::BreakerRow row_of(const catalog::OpenBreaker *open)
{
    if (open == nullptr)
        return {};
    return {open->change, steady_of(open->since), steady_of(open->until)};
}

// ---- what is shown ----

std::string cause_of(const core::BreakerOpening &opening)
{
    if (opening.cause == core::BreakerCause::probe)
        return "the job that tried failed";
    return std::to_string(opening.counted.failed) + " of " + std::to_string(opening.counted.ended) +
           " attempts failed";
}

std::string cause_of(const catalog::OpenBreaker *open)
{
    if (open == nullptr)
        return "it was opened";
    std::string reason = open->reason == "NONE" ? "" : open->reason;
    if (!open->by.has_value())
        return reason;
    return "opened by " + *open->by + (reason.empty() ? "" : " (" + reason + ")");
}

// An open breaker whose time has passed lets one job try or, if no rule could judge that, all.
core::BreakerState state_at(core::BreakerState state, pg::Time until, bool has_rule)
{
    if (state != core::BreakerState::open || until > pg::now())
        return state;
    return has_rule ? core::BreakerState::half_open : core::BreakerState::closed;
}

// ---- saving ----

// Locks the row, and makes it if it is missing.
constinit pg::Statement lock_breaker(R"(
    INSERT INTO hipq.breaker_state AS state (queue_id, job_type, opened_time, change) VALUES ($1, $2, $3, 0)
    ON CONFLICT (queue_id, job_type) DO UPDATE SET change = state.change)");
constinit pg::Statement
    delete_breaker_row("DELETE FROM hipq.breaker_state WHERE queue_id = $1 AND job_type = $2");
// $6: the cause; NULL: as the row says
constinit pg::Statement update_breaker(R"(
    UPDATE hipq.breaker_state AS state
    SET change = $3, opened_time = $4, open_until = $5,
        opened_by = CASE WHEN $6 IS NULL THEN state.opened_by END, reason = coalesce($6, state.reason)
    WHERE state.queue_id = $1 AND state.job_type = $2)");

// The entry is copied after the row is locked: what a user orders with the row locked is in the
// entry before the lock is released.
std::optional<std::int64_t> save_breaker(const core::LimiterName &name, const std::string &job_type)
{
    lock_breaker.run(name.queue_id, job_type, pg::now());
    const auto known = lanes::find_breaker(name);
    if (!known.has_value())
        return std::nullopt;
    if (known->state == core::BreakerState::closed) {
        delete_breaker_row.run(name.queue_id, job_type);
        return known->change;
    }
    const pg::Time until = clock_of(known->opening.until);
    update_breaker.run(name.queue_id, job_type, known->change, clock_of(known->opening.since),
                       until == pg::infinity ? std::nullopt : std::optional(until),
                       known->opening.cause == core::BreakerCause::row
                           ? std::nullopt
                           : std::optional(cause_of(known->opening)));
    return known->change;
}

const std::string *type_of_hash(const catalog::Queue &queue, std::uint64_t hash)
{
    for (const auto &[type_name, type] : queue.job_types())
        if (core::name_hash(type_name) == hash)
            return &type_name;
    return nullptr;
}

// A type or queue that is gone needs no row.
void save_or_forget(const catalog::Catalogue &catalogue, const core::LimiterName &name)
{
    std::optional<std::int64_t> saved;
    pg::with_transaction([&] {
        const catalog::Queue *queue = catalogue.find(name.queue_id);
        const std::string *type = queue == nullptr || queue->is_dropped || !queue->has_waits
                                      ? nullptr
                                      : type_of_hash(*queue, name.type);
        if (type != nullptr)
            saved = pg::as_hipq([&] { return save_breaker(name, *type); });
        else if (const auto known = lanes::find_breaker(name))
            saved = known->change;
    });
    if (saved.has_value())
        lanes::note_breaker_saved(name, *saved);
}

}  // namespace

core::StartBreaker breaker_of(const catalog::Queue &queue, const catalog::JobType &type)
{
    const catalog::OpenBreaker *open = queue.find_open_breaker(type.name);
    if (open == nullptr && !type.breaker.is_set())
        return {};
    return {type.breaker, row_of(open), queue.owner, settings::max_owner_share};
}

BreakerTurn look_at_breaker(const catalog::Queue &queue, const catalog::JobType &type, pg::Time now)
{
    const core::StartBreaker breaker = breaker_of(queue, type);
    if (!breaker.any())
        return {};
    const lanes::BreakerLook look = lanes::look_at_breaker(name_of(queue, type.name), breaker);
    if (!look.has_room)
        memory::raise_alert(memory::Alert::breakers_full);
    return {look.wait > 0 ? now + look.wait : pg::Time{0},
            look.answer == core::Breaker::Answer::one};
}

ShownBreaker shown_breaker(const catalog::Queue &queue, const catalog::JobType &type)
{
    const auto known = lanes::find_breaker(name_of(queue, type.name));
    const catalog::OpenBreaker *open = queue.find_open_breaker(type.name);
    ShownBreaker shown;
    if (known.has_value() && (open == nullptr || open->change <= known->change)) {
        shown.state = known->state;
        shown.has_probe = known->has_probe;
        shown.since = clock_of(known->opening.since);
        shown.until = clock_of(known->opening.until);
        shown.cause = known->opening.cause == core::BreakerCause::row ? cause_of(open)
                                                                      : cause_of(known->opening);
    } else if (open != nullptr) {
        shown = {core::BreakerState::open, false, open->since, open->until, cause_of(open)};
    }
    shown.state = state_at(shown.state, shown.until, type.breaker.is_set());
    return shown;
}

std::optional<Condition> breaker_condition(const catalog::Queue &queue, std::string_view job_type)
{
    using core::Finding;
    const catalog::JobType *type = queue.find_job_type(job_type);
    if (type == nullptr || !breaker_of(queue, *type).any())
        return std::nullopt;
    ShownBreaker shown = shown_breaker(queue, *type);
    switch (shown.state) {
    case core::BreakerState::open:
        return Condition{Finding::breaker_is_open,
                         BreakerFacts{shown.since, shown.until, std::move(shown.cause),
                                      type->breaker.is_set(), pg::now()}};
    case core::BreakerState::half_open:
        return Condition{shown.has_probe ? Finding::breaker_is_tried
                                         : Finding::breaker_lets_one_try};
    case core::BreakerState::closed:
        break;
    }
    return Condition{Finding::breaker_is_closed};
}

std::int64_t next_breaker_change(const core::LimiterName &name)
{
    const auto known = lanes::find_breaker(name);
    return known.has_value() ? known->change + 1 : 1;
}

pg::Time save_breakers(const catalog::Catalogue &catalogue)
{
    for (const core::LimiterName &name : lanes::unsaved_breakers()) {
        process::check_interrupts();
        (void)process::do_duty(core::Duty::breakers, catalogue.find(name.queue_id),
                               [&] { save_or_forget(catalogue, name); });
    }
    return lanes::unsaved_breakers().empty() ? pg::infinity : pg::now() + process::longest_wait;
}

}  // namespace hipq::claim
