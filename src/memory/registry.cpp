// Sizes and sets up the shared segment, and holds its lock.
#include "registry.hpp"

#include "settings.hpp"

namespace hipq::memory {

namespace {

// What stands before the entries, buckets and holders of the jobs in flight.
struct JobsHead {
    core::JobTableHead table;
    core::LimiterTableHead limiters;
    std::int32_t capacity;
    std::int32_t holder_count;
    std::int32_t limiter_capacity;
};

constinit Registry *segment = nullptr;
constinit JobsHead *jobs_head = nullptr;
constinit LWLock *lock = nullptr;
constexpr std::size_t max_parts = 16;
constinit std::array<Part, max_parts> all_parts{};
constinit std::size_t part_count = 0;
constinit shmem_request_hook_type previous_request_hook = nullptr;
constinit shmem_startup_hook_type previous_startup_hook = nullptr;

// Every executor is a background worker, so there can be no more than those.
Size segment_size()
{
    return ::add_size(offsetof(Registry, executors),
                      ::mul_size(sizeof(ExecutorSlot), static_cast<Size>(max_worker_processes)));
}

std::span<const Part> parts()
{
    return {all_parts.data(), part_count};
}

Size holder_count()
{
    return ::add_size(static_cast<Size>(max_worker_processes) + max_databases,
                      static_cast<Size>(worker_places()) + 1);
}

// Each running job may have a queue, a type and a throttle key of its own: a limit holds however
// many others there are.
Size limiter_capacity()
{
    return ::mul_size(job_capacity(), core::limiters_per_job);
}

Size jobs_size()
{
    Size size = sizeof(JobsHead);
    size =
        ::add_size(size, ::mul_size(sizeof(core::JobEntry) + sizeof(std::int32_t), job_capacity()));
    size = ::add_size(size,
                      ::mul_size(sizeof(core::Limiter) + sizeof(std::int32_t), limiter_capacity()));
    size = ::add_size(
        size, ::mul_size(max_cancellation_error,
                         ::add_size(job_capacity(), static_cast<Size>(max_worker_processes))));
    return ::add_size(size, ::mul_size(sizeof(core::HolderList), holder_count()));
}

void set_up_jobs(JobsHead *fresh)
{
    fresh->capacity = static_cast<std::int32_t>(job_capacity());
    fresh->holder_count = static_cast<std::int32_t>(holder_count());
    fresh->limiter_capacity = static_cast<std::int32_t>(limiter_capacity());
    jobs_in_flight().clear();
}

void set_up(Registry *fresh, const ServerMark &mark)
{
    std::memset(static_cast<void *>(fresh), 0, segment_size());
    fresh->server_mark = mark;
    fresh->launcher = no_process;
    fresh->executor_count = max_worker_processes;
    ::ConditionVariableInit(&fresh->departure);
    for (DatabaseSlot &slot : fresh->databases)
        slot.process = no_process;
    for (int i = 0; i < fresh->executor_count; ++i)
        fresh->executors[i].process = no_process;
}

extern "C" void hipq_shmem_request()
{
    if (previous_request_hook != nullptr)
        previous_request_hook();
    ::RequestAddinShmemSpace(::add_size(segment_size(), jobs_size()));
    ::RequestNamedLWLockTranche("hipq", 1);
    for (const Part &part : parts())
        if (part.request != nullptr)
            part.request();
}

extern "C" void hipq_shmem_startup()
{
    if (previous_startup_hook != nullptr)
        previous_startup_hook();
    bool found = false;
    // At each start of the server, and when it starts anew after a crash.
    const ServerMark mark =
        ::IsPostmasterEnvironment && !::IsUnderPostmaster ? read_or_make_mark() : ServerMark{};
    ::LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    segment = static_cast<Registry *>(::ShmemInitStruct("hipq", segment_size(), &found));
    if (!found)
        set_up(segment, mark);
    jobs_head =
        static_cast<JobsHead *>(::ShmemInitStruct("hipq jobs in flight", jobs_size(), &found));
    if (!found)
        set_up_jobs(jobs_head);
    for (const Part &part : parts())
        if (part.set_up != nullptr)
            part.set_up();
    lock = &::GetNamedLWLockTranche("hipq")->lock;
    ::LWLockRelease(AddinShmemInitLock);
    for (const Part &part : parts())
        if (part.begin != nullptr)
            part.begin();
}

}  // namespace

void add_part(const Part &part)
{
    Assert(part_count < max_parts);
    all_parts[part_count++] = part;
}

void forget_database(Oid database) noexcept
{
    const Lock guard(LW_EXCLUSIVE);
    for (const Part &part : parts())
        if (part.forget_database != nullptr)
            part.forget_database(database);
}

void tell_of_scheduler_exit(DatabaseSlot &slot, int holder) noexcept
{
    for (const Part &part : parts())
        if (part.scheduler_exits != nullptr)
            part.scheduler_exits(slot, holder);
}

std::int32_t worker_places()
{
    return 2 * settings::max_workers;
}

void tell_of_freed_capacity(Oid database) noexcept
{
    for (const Part &part : parts())
        if (part.capacity_freed != nullptr)
            part.capacity_freed(database);
}

// Every executor can have one job, however many jobs fit otherwise.
Size job_capacity()
{
    return static_cast<Size>(std::max(settings::max_running, max_worker_processes));
}

bool is_loaded()
{
    return segment != nullptr;
}

Registry *registry()
{
    return segment;
}

core::JobTable jobs_in_flight()
{
    const auto capacity = static_cast<std::size_t>(jobs_head->capacity);
    const auto limiter_count = static_cast<std::size_t>(jobs_head->limiter_capacity);
    auto *entries = reinterpret_cast<core::JobEntry *>(jobs_head + 1);
    auto *limiters = reinterpret_cast<core::Limiter *>(entries + capacity);
    auto *buckets = reinterpret_cast<std::int32_t *>(limiters + limiter_count);
    auto *limiter_buckets = buckets + capacity;
    auto *holders = reinterpret_cast<core::HolderList *>(limiter_buckets + limiter_count);
    return {&jobs_head->table,
            {entries, capacity},
            {buckets, capacity},
            {holders, static_cast<std::size_t>(jobs_head->holder_count)},
            core::LimiterTable(&jobs_head->limiters, {limiters, limiter_count},
                               {limiter_buckets, limiter_count})};
}

namespace {

// Those of the entries, then those of the executors: the last part of the memory of the jobs in
// hand.
char *cancellation_errors()
{
    return reinterpret_cast<char *>(jobs_in_flight().holders().data() + jobs_head->holder_count);
}

}  // namespace

char *cancellation_error(std::int32_t entry)
{
    return cancellation_errors() + static_cast<std::size_t>(entry) * max_cancellation_error;
}

char *cancellation_error(const ExecutorSlot &slot)
{
    return cancellation_error(jobs_head->capacity +
                              static_cast<std::int32_t>(&slot - registry()->executors));
}

int scheduler_holder(int database_slot)
{
    return registry()->executor_count + database_slot;
}

int worker_holder(std::int32_t place)
{
    return registry()->executor_count + max_databases + place;
}

int left_running_holder()
{
    return jobs_head->holder_count - 1;
}

void install_hooks()
{
    previous_request_hook = shmem_request_hook;
    shmem_request_hook = hipq_shmem_request;
    previous_startup_hook = shmem_startup_hook;
    shmem_startup_hook = hipq_shmem_startup;
}

Lock::Lock(LWLockMode mode)
{
    ::LWLockAcquire(lock, mode);
}

Lock::~Lock()
{
    ::LWLockRelease(lock);
}

void wake_process(int process)
{
    if (process != no_process)
        ::SetLatch(&ProcGlobal->allProcs[process].procLatch);
}

}  // namespace hipq::memory
