// When jobs of a type may start under the rates of queue and type, and the breaker of the type; the
// leases of rates.
#pragma once

#include "catalog/cache.hpp"
#include "core/limits/rate_table.hpp"
#include "pg/clock.hpp"
#include "shared/lanes/rates.hpp"

namespace hipq::claim {

struct Claimer;

// When jobs of a type may start under its breaker, and the rates of its queue and of the type.
struct TurnLook {
    pg::Time turn{0};                                              // `now` or before: at once
    core::Weight left = std::numeric_limits<core::Weight>::max();  // that may start at once
    bool is_probe = false;                                         // one job may try
    bool needs_lease = false;                                      // see NewLeases
    // How many jobs to take at once, at most: jobs without a turn would go back into their lane.
    std::size_t most(std::size_t wanted) const
    {
        const auto turns = is_probe ? 1 : static_cast<std::size_t>(left / core::weight_unit);
        return std::clamp<std::size_t>(turns, 1, std::max<std::size_t>(wanted, 1));
    }
};
TurnLook look_at_turn(const catalog::Queue &queue, const catalog::JobType &type, pg::Time now);

// Removes leases of throttle keys that no longer count. Needs a transaction.
void prune_leases(const catalog::Catalogue &catalogue, pg::Time now);

// Writes what breakers have done by themselves to hipq.breaker_state: a duty of the scheduler.
// Returns when to do it again; infinity: after the next change.
pg::Time save_breakers(const catalog::Catalogue &catalogue);

// Leases (core/limits/rate_table.hpp) that a process has written in a transaction.
class NewLeases {
public:
    // Writes the leases that the rates of a type need. Needs a transaction that may write.
    void write(const catalog::Queue &queue, const catalog::JobType &type);
    // The same for a rate of the type, or of a throttle key of it.
    void write(const core::RateUse &use, const std::string &job_type);
    // Call after the commit: makes them count. Returns whether there were any, so that jobs may
    // start now.
    bool publish();
    // Call after a rollback.
    void forget() { written_.clear(); }

private:
    std::vector<lanes::Lease> written_{};
};

// Another process may be writing a lease: look again after this delay.
inline constexpr std::int64_t lease_delay = 2'000;  // us
// The scheduler looks no sooner than this at a turn, because executors look at it by themselves.
inline constexpr std::int64_t turn_delay = 10'000;  // us

// Whether starts of the type's jobs count under a rate.
bool is_rated(const catalog::Queue &queue, const catalog::JobType &type);

// Returns how many jobs of a type may start now. Nothing: none may; `claimer` has got when to look
// again, and the leases that are needed. Needs a transaction that may write.
std::optional<TurnLook> find_turn(Claimer &claimer, const catalog::Queue &queue,
                                  const catalog::JobType &type, pg::Time now);
// Writes the leases of the throttle keys that take_jobs() has found. Needs such a transaction, too.
void write_leases_of_keys(Claimer &claimer);

}  // namespace hipq::claim
