// What a transaction says to breakers: how attempts ended, and what users order. It takes effect
// when the transaction commits.
#pragma once

#include "pg/postgres.hpp"
#include "core/lanes/job_table.hpp"

namespace hipq::executors {

// An attempt of a job that is in flight here, or that this process ends for another one, has ended.
// Attempts of external workers: workers::note_job_left().
void note_attempt_end(std::int64_t job_id, core::AttemptEnd end);

// A user opens or closes the breaker of a type. A type whose breaker shared memory does not have
// learns of it from its row.
struct OrderedBreaker {
    core::LimiterName name;
    std::uint32_t owner;  // of the queue
    core::BreakerRule rule;
    core::BreakerOrder order;
};
void order_breaker(const OrderedBreaker &ordered);

// Registers the callbacks. _PG_init calls it once, after that of external jobs, so that ends are
// counted before the jobs leave; call inside pg::call() only.
void watch_breakers();

}  // namespace hipq::executors
