// Keeps the table of jobs in flight in shared memory.
#include "shared/lanes/in_flight_table.hpp"

#include "core/limits/node_shares.hpp"
#include "core/limits/throttle.hpp"
#include "pg/clock.hpp"
#include "settings.hpp"

namespace hipq::lanes {

namespace {

// The head. The entries, limiters, shares, rates, breakers, buckets, holders and errors follow it.
struct InFlightTableHead {
    core::JobTableHead table;
    core::LimiterTableHead limiters;
    core::NodeShareTableHead shares;
    core::RateTableHead rates;
    core::RateTableHead key_rates;
    core::NameTableHead breakers;
    std::int32_t capacity;
    std::int32_t holder_count;
    std::int32_t limiter_capacity;
    std::int32_t share_capacity;
    std::int32_t rate_capacity;
    std::int32_t breaker_capacity;
    std::int32_t key_rate_capacity;
};

constinit InFlightTableHead *in_flight_head = nullptr;
constinit memory::Tranche in_flight_tranche{"HipqInFlight", memory::LockRank::in_flight};

Size holder_count()
{
    return static_cast<Size>(memory::holder_count());
}

// Each running job may have a queue, a type and a throttle key of its own. With this capacity a
// limit is enforced however many others there are.
Size limiter_capacity()
{
    return ::mul_size(job_capacity(), core::limiters_per_job);
}

// Limits of all databases that this node shares with others: each running job may have its own
// throttle key, and others wait.
Size share_capacity()
{
    return ::add_size(job_capacity(), 1'024);
}

Size rate_capacity()
{
    return static_cast<Size>(settings::max_rates);
}

Size breaker_capacity()
{
    return static_cast<Size>(settings::max_breakers);
}

Size in_flight_table_size()
{
    Size size = sizeof(InFlightTableHead);
    size =
        ::add_size(size, ::mul_size(sizeof(core::JobEntry) + sizeof(std::int32_t), job_capacity()));
    size = ::add_size(size,
                      ::mul_size(sizeof(core::Limiter) + sizeof(std::int32_t), limiter_capacity()));
    size = ::add_size(size,
                      ::mul_size(sizeof(core::NodeShare) + sizeof(std::int32_t), share_capacity()));
    size = ::add_size(size, ::mul_size(sizeof(core::RateEntry) +
                                           core::starts_per_rate * sizeof(core::Starts) +
                                           sizeof(std::int32_t),
                                       rate_capacity()));
    size = ::add_size(
        size, ::mul_size(sizeof(core::BreakerEntry) + sizeof(std::int32_t), breaker_capacity()));
    size = ::add_size(
        size, ::mul_size(max_cancellation_error,
                         ::add_size(job_capacity(), static_cast<Size>(memory::executor_places()))));
    return ::add_size(size, ::mul_size(sizeof(core::HolderList), holder_count()));
}

// The rates of throttle keys are in memory of their own, which is not touched before its first use:
// entries, starts and buckets.
constinit core::RateEntry *key_rates_memory = nullptr;

Size key_rate_capacity()
{
    return static_cast<Size>(settings::max_keys);
}

Size key_rates_size()
{
    return ::mul_size(sizeof(core::RateEntry) + core::starts_per_key * sizeof(core::Starts) +
                          sizeof(std::int32_t),
                      key_rate_capacity());
}

core::RateTable key_rates()
{
    const auto count = static_cast<std::size_t>(in_flight_head->key_rate_capacity);
    const std::size_t start_count = count * core::starts_per_key;
    auto *starts = reinterpret_cast<core::Starts *>(key_rates_memory + count);
    auto *key_buckets = reinterpret_cast<std::int32_t *>(starts + start_count);
    return {&in_flight_head->key_rates,
            {key_rates_memory, count},
            {starts, start_count},
            {key_buckets, count}};
}

// The errors of the entries, then those of the executors, in the last part of the table's memory.
char *cancellation_errors()
{
    return reinterpret_cast<char *>(jobs_in_flight().holders().data() +
                                    in_flight_head->holder_count);
}

void request_in_flight()
{
    ::RequestAddinShmemSpace(::add_size(in_flight_table_size(), key_rates_size()));
    in_flight_tranche.request();
}

void set_up_in_flight()
{
    bool found = false;
    in_flight_head = static_cast<InFlightTableHead *>(
        ::ShmemInitStruct("hipq jobs in flight", in_flight_table_size(), &found));
    key_rates_memory = static_cast<core::RateEntry *>(
        ::ShmemInitStruct("hipq rates of keys", key_rates_size(), &found));
    in_flight_tranche.set_up();
    if (found)
        return;
    in_flight_head->capacity = static_cast<std::int32_t>(job_capacity());
    in_flight_head->holder_count = static_cast<std::int32_t>(holder_count());
    in_flight_head->limiter_capacity = static_cast<std::int32_t>(limiter_capacity());
    in_flight_head->share_capacity = static_cast<std::int32_t>(share_capacity());
    in_flight_head->rate_capacity = static_cast<std::int32_t>(rate_capacity());
    in_flight_head->breaker_capacity = static_cast<std::int32_t>(breaker_capacity());
    in_flight_head->key_rate_capacity = static_cast<std::int32_t>(key_rate_capacity());
    jobs_in_flight().clear(pg::steady_now());
}

}  // namespace

constinit const memory::Part in_flight_part{request_in_flight, set_up_in_flight};

InFlightLock::InFlightLock(LWLockMode mode) : TrancheLock(in_flight_tranche, mode) {}

// Every executor can have one job, however low the setting is.
Size job_capacity()
{
    return static_cast<Size>(std::max(settings::max_running, memory::executor_places()));
}

core::JobTable jobs_in_flight()
{
    const auto capacity = static_cast<std::size_t>(in_flight_head->capacity);
    const auto limiter_count = static_cast<std::size_t>(in_flight_head->limiter_capacity);
    const auto share_count = static_cast<std::size_t>(in_flight_head->share_capacity);
    const auto rate_count = static_cast<std::size_t>(in_flight_head->rate_capacity);
    const auto breaker_count = static_cast<std::size_t>(in_flight_head->breaker_capacity);
    auto *entries = reinterpret_cast<core::JobEntry *>(in_flight_head + 1);
    auto *limiters = reinterpret_cast<core::Limiter *>(entries + capacity);
    auto *shares = reinterpret_cast<core::NodeShare *>(limiters + limiter_count);
    auto *rates = reinterpret_cast<core::RateEntry *>(shares + share_count);
    const std::size_t start_count = rate_count * core::starts_per_rate;
    auto *starts = reinterpret_cast<core::Starts *>(rates + rate_count);
    auto *breakers = reinterpret_cast<core::BreakerEntry *>(starts + start_count);
    auto *buckets = reinterpret_cast<std::int32_t *>(breakers + breaker_count);
    auto *limiter_buckets = buckets + capacity;
    auto *share_buckets = limiter_buckets + limiter_count;
    auto *rate_buckets = share_buckets + share_count;
    auto *breaker_buckets = rate_buckets + rate_count;
    auto *holders = reinterpret_cast<core::HolderList *>(breaker_buckets + breaker_count);
    return {
        &in_flight_head->table,
        {entries, capacity},
        {buckets, capacity},
        {holders, static_cast<std::size_t>(in_flight_head->holder_count)},
        core::LimiterTable(
            &in_flight_head->limiters, {limiters, limiter_count}, {limiter_buckets, limiter_count},
            {&in_flight_head->shares, {shares, share_count}, {share_buckets, share_count}}),
        {&in_flight_head->rates,
         {rates, rate_count},
         {starts, start_count},
         {rate_buckets, rate_count}},
        {&in_flight_head->breakers, {breakers, breaker_count}, {breaker_buckets, breaker_count}},
        key_rates()};
}

char *cancellation_error(std::int32_t entry)
{
    return cancellation_errors() + static_cast<std::size_t>(entry) * max_cancellation_error;
}

char *cancellation_error_of_executor(int slot)
{
    return cancellation_error(in_flight_head->capacity + slot);
}

}  // namespace hipq::lanes
