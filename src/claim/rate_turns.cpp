// Looks at the rates of a queue and a type, and writes leases. The breaker of the type comes first.
//
// A lease is a row that says how much may start from a time on. After a crash of the server all of
// it counts as started. It is written and flushed before the first of its jobs is admitted, in the
// transaction of the look for jobs.
#include "claim/rate_turns.hpp"

#include "claim/type_breaker.hpp"
#include "claim/weight.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "pg/replicated.hpp"
#include "settings.hpp"
#include "shared/lanes/rates.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"

extern "C" {
#include "access/xact.h"
#include "access/xlog.h"
}

namespace hipq::claim {

namespace {

// After this delay, look again whether there is room for a rate.
constexpr std::int64_t room_delay = 1'000'000;  // us

constinit pg::Statement insert_lease(R"(
    INSERT INTO hipq.rate_lease AS lease (queue_id, job_type, throttle_key, granted_time, weight) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (queue_id, job_type, throttle_key, granted_time) DO UPDATE SET weight = lease.weight + EXCLUDED.weight)");
// Jobs that are pending start under the next lease. $4: their weight
constinit pg::Statement shorten_lease(R"(
    UPDATE hipq.rate_lease AS lease
    SET weight = greatest(lease.weight - $4, 0)
    WHERE lease.queue_id = $1 AND lease.job_type = $2 AND lease.throttle_key = $3
      AND lease.granted_time = (
          SELECT max(latest.granted_time) FROM hipq.rate_lease AS latest
          WHERE latest.queue_id = $1 AND latest.job_type = $2 AND latest.throttle_key = $3
      ))");
// $4: leases before this time no longer count
constinit pg::Statement delete_leases(R"(
    DELETE FROM hipq.rate_lease AS lease
    WHERE lease.queue_id = $1 AND lease.job_type = $2 AND lease.throttle_key = $3 AND lease.granted_time < $4)");
// A key may never come back, so nothing else would remove them. $3: as above
constinit pg::Statement delete_leases_of_keys(R"(
    DELETE FROM hipq.rate_lease AS lease
    WHERE lease.queue_id = $1 AND lease.job_type = $2 AND lease.throttle_key <> 0 AND lease.granted_time < $3)");
constinit pg::Statement select_types_with_leases(
    "SELECT DISTINCT queue_id, job_type FROM hipq.rate_lease WHERE throttle_key <> 0");
constinit pg::Statement select_leases(R"(
    SELECT lease.granted_time, lease.weight
    FROM hipq.rate_lease AS lease
    WHERE lease.queue_id = $1 AND lease.job_type = $2 AND lease.throttle_key = $3
    ORDER BY lease.granted_time)");

struct NamedRate {
    core::RateUse use;
    std::string job_type;  // empty: the queue's
};

std::vector<NamedRate> named_rates(const catalog::Queue &queue, const catalog::JobType &type)
{
    std::vector<NamedRate> rates;
    if (queue.rate.is_set())
        rates.push_back({{{MyDatabaseId, queue.id, 0, 0}, queue.owner, queue.rate}, ""});
    if (type.rate.is_set())
        rates.push_back(
            {{{MyDatabaseId, queue.id, core::name_hash(type.name), 0}, queue.owner, type.rate},
             type.name});
    return rates;
}

// The leases of an earlier life of the server. Each may have been used until the next one was
// granted, the last one until now.
std::vector<core::Starts> earlier_leases(int queue_id, const std::string &job_type,
                                         std::int64_t throttle_key)
{
    const std::int64_t now = pg::steady_now();
    const pg::Time clock = pg::now();
    std::vector<core::Starts> starts;
    for (const pg::Row row : select_leases.run_latest(queue_id, job_type, throttle_key)) {
        if (!starts.empty())
            starts.back().last = now - std::max<std::int64_t>(clock.value - row.time(0).value, 0);
        starts.push_back({now, row.integer(1)});
    }
    return starts;
}

}  // namespace

core::StartRates rates_of(const catalog::Queue &queue, const catalog::JobType &type)
{
    return {queue.rate, type.rate, type.rate_per_key, queue.owner, settings::max_owner_share};
}

TurnLook look_at_turn(const catalog::Queue &queue, const catalog::JobType &type, pg::Time now)
{
    TurnLook look;
    if (!memory::is_loaded())
        return look;
    const BreakerTurn breaker = look_at_breaker(queue, type, now);
    look.turn = breaker.turn;
    look.is_probe = breaker.is_probe;
    if (look.turn > now)
        return look;
    for (const NamedRate &rate : named_rates(queue, type)) {
        const lanes::RateLook found = lanes::look_at_rate(rate.use);
        if (!found.has_room)
            memory::raise_alert(memory::Alert::rates_full);
        const std::int64_t wait = found.has_room ? found.wait : room_delay;
        if (wait > 0)
            look.turn = std::max(look.turn, now + wait);
        look.left = std::min(look.left, found.left);
        look.needs_lease = look.needs_lease || found.needs_lease;
    }
    return look;
}

void NewLeases::write(const catalog::Queue &queue, const catalog::JobType &type)
{
    for (const NamedRate &rate : named_rates(queue, type))
        if (lanes::look_at_rate(rate.use).needs_lease)
            write(rate.use, rate.job_type);
}

void NewLeases::write(const core::RateUse &use, const std::string &job_type)
{
    const int queue_id = use.name.queue_id;
    const auto throttle_key = static_cast<std::int64_t>(use.name.key);
    const auto begun = lanes::begin_lease(use);
    if (!begun.has_value())
        return;
    pg::as_hipq([&] {
        written_.push_back({use, earlier_leases(queue_id, job_type, throttle_key), begun->weight,
                            pg::steady_now()});
        if (begun->weight == 0)
            return;
        const pg::Time now = pg::now();
        delete_leases.run(queue_id, job_type, throttle_key,
                          pg::Time{now.value - 2 * use.rate.period});
        if (begun->pending > 0)
            shorten_lease.run(queue_id, job_type, throttle_key, begun->pending);
        insert_lease.run(queue_id, job_type, throttle_key, now, begun->weight + begun->pending);
    });
}

bool is_rated(const catalog::Queue &queue, const catalog::JobType &type)
{
    return rates_of(queue, type).any();
}

std::optional<TurnLook> find_turn(Claimer &claimer, const catalog::Queue &queue,
                                  const catalog::JobType &type, pg::Time now)
{
    const TurnLook next = look_at_turn(queue, type, now);
    if (next.needs_lease)
        claimer.leases.write(queue, type);
    if (!next.needs_lease && next.turn <= now)
        return next;
    claimer.next_turn = std::min(claimer.next_turn, std::max(next.turn, now + lease_delay));
    return std::nullopt;
}

void write_leases_of_keys(Claimer &claimer)
{
    for (const core::RateUse &use : std::exchange(claimer.keys_without_lease, {}))
        claimer.leases.write(use, claimer.prefetched.job_type);
}

void prune_leases(const catalog::Catalogue &catalogue, pg::Time now)
{
    const pg::Rows types = pg::as_hipq([&] { return select_types_with_leases.run(); });
    for (const pg::Row row : types) {
        const catalog::Queue *queue = catalogue.find(row.integer32(0));
        const catalog::JobType *type =
            queue == nullptr ? nullptr : queue->find_job_type(row.text(1));
        const std::int64_t period = type == nullptr ? 0 : type->rate_per_key.period;
        pg::as_hipq([&] {
            delete_leases_of_keys.run(row.integer32(0), row.text(1),
                                      pg::Time{now.value - 2 * period});
        });
    }
}

bool NewLeases::publish()
{
    if (written_.empty())
        return false;
    pg::call([] { pg::wait_until_safe(XactLastCommitEnd); });
    for (const lanes::Lease &lease : written_)
        lanes::grant_lease(lease);
    written_.clear();
    return true;
}

}  // namespace hipq::claim
