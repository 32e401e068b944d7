// Keeps the table of jobs in flight in shared memory.
#include "in_flight_table.hpp"

#include "settings.hpp"

namespace hipq::lanes {

namespace {

// What stands before the entries, limiters, shares, buckets, holders and errors.
struct TableHead {
    core::JobTableHead table;
    core::LimiterTableHead limiters;
    core::NodeShareTableHead shares;
    std::int32_t capacity;
    std::int32_t holder_count;
    std::int32_t limiter_capacity;
    std::int32_t share_capacity;
};

constinit TableHead *head = nullptr;
constinit memory::Tranche tranche{"HipqInFlight", memory::LockRank::in_flight};

constexpr const char *name = "hipq jobs in flight";

Size holder_count()
{
    return static_cast<Size>(memory::left_running_holder()) + 1;
}

// Each running job may have a queue, a type and a throttle key of its own: a limit holds however
// many others there are.
Size limiter_capacity()
{
    return ::mul_size(job_capacity(), core::limiters_per_job);
}

// Limits that this node shares with others, of all databases: each running job may have a throttle
// key of its own, and others wait.
Size share_capacity()
{
    return ::add_size(job_capacity(), 1'024);
}

Size table_size()
{
    Size size = sizeof(TableHead);
    size =
        ::add_size(size, ::mul_size(sizeof(core::JobEntry) + sizeof(std::int32_t), job_capacity()));
    size = ::add_size(size,
                      ::mul_size(sizeof(core::Limiter) + sizeof(std::int32_t), limiter_capacity()));
    size = ::add_size(size,
                      ::mul_size(sizeof(core::NodeShare) + sizeof(std::int32_t), share_capacity()));
    size = ::add_size(
        size, ::mul_size(max_cancellation_error,
                         ::add_size(job_capacity(), static_cast<Size>(memory::executor_places()))));
    return ::add_size(size, ::mul_size(sizeof(core::HolderList), holder_count()));
}

// Those of the entries, then those of the executors: the last part of the table's memory.
char *cancellation_errors()
{
    return reinterpret_cast<char *>(jobs_in_flight().holders().data() + head->holder_count);
}

void request_in_flight()
{
    ::RequestAddinShmemSpace(table_size());
    tranche.request();
}

void set_up_in_flight()
{
    bool found = false;
    head = static_cast<TableHead *>(::ShmemInitStruct(name, table_size(), &found));
    tranche.set_up();
    if (found)
        return;
    head->capacity = static_cast<std::int32_t>(job_capacity());
    head->holder_count = static_cast<std::int32_t>(holder_count());
    head->limiter_capacity = static_cast<std::int32_t>(limiter_capacity());
    head->share_capacity = static_cast<std::int32_t>(share_capacity());
    jobs_in_flight().clear();
}

}  // namespace

constinit const memory::Part in_flight_part{request_in_flight, set_up_in_flight};

InFlightLock::InFlightLock(LWLockMode mode) : TrancheLock(tranche, mode) {}

// Every executor can have one job, however many jobs fit otherwise.
Size job_capacity()
{
    return static_cast<Size>(std::max(settings::max_running, memory::executor_places()));
}

core::JobTable jobs_in_flight()
{
    const auto capacity = static_cast<std::size_t>(head->capacity);
    const auto limiter_count = static_cast<std::size_t>(head->limiter_capacity);
    const auto share_count = static_cast<std::size_t>(head->share_capacity);
    auto *entries = reinterpret_cast<core::JobEntry *>(head + 1);
    auto *limiters = reinterpret_cast<core::Limiter *>(entries + capacity);
    auto *shares = reinterpret_cast<core::NodeShare *>(limiters + limiter_count);
    auto *buckets = reinterpret_cast<std::int32_t *>(shares + share_count);
    auto *limiter_buckets = buckets + capacity;
    auto *share_buckets = limiter_buckets + limiter_count;
    auto *holders = reinterpret_cast<core::HolderList *>(share_buckets + share_count);
    return {&head->table,
            {entries, capacity},
            {buckets, capacity},
            {holders, static_cast<std::size_t>(head->holder_count)},
            core::LimiterTable(
                &head->limiters, {limiters, limiter_count}, {limiter_buckets, limiter_count},
                {&head->shares, {shares, share_count}, {share_buckets, share_count}})};
}

char *cancellation_error(std::int32_t entry)
{
    return cancellation_errors() + static_cast<std::size_t>(entry) * max_cancellation_error;
}

char *cancellation_error_of_executor(int slot)
{
    return cancellation_error(head->capacity + slot);
}

}  // namespace hipq::lanes
