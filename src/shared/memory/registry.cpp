// Sizes and sets up the shared segment, and holds its lock.
#include "shared/memory/registry.hpp"

#include "settings.hpp"

namespace hipq::memory {

namespace {

constinit Registry *segment = nullptr;
constinit Tranche databases_tranche{"HipqDatabases", LockRank::databases};
constexpr std::size_t max_parts = 24;
constinit std::array<Part, max_parts> all_parts{};
constinit std::size_t part_count = 0;
constinit shmem_request_hook_type previous_request_hook = nullptr;
constinit shmem_startup_hook_type previous_startup_hook = nullptr;

std::span<const Part> parts()
{
    return {all_parts.data(), part_count};
}

void set_up(Registry *fresh, const ServerMark &mark)
{
    std::memset(static_cast<void *>(fresh), 0, sizeof(Registry));
    fresh->server_mark = mark;
    fresh->launcher = no_process;
    fresh->look_at_all_due = pg::infinity;
    ::ConditionVariableInit(&fresh->departure);
    for (DatabaseSlot &slot : fresh->databases)
        slot.process = no_process;
}

extern "C" void hipq_shmem_request()
{
    if (previous_request_hook != nullptr)
        previous_request_hook();
    ::RequestAddinShmemSpace(sizeof(Registry));
    databases_tranche.request();
    for (const Part &part : parts())
        if (part.request != nullptr)
            part.request();
}

extern "C" void hipq_shmem_startup()
{
    if (previous_startup_hook != nullptr)
        previous_startup_hook();
    bool found = false;
    // The postmaster runs this when the server starts, and again when it reinitializes after a
    // crash.
    const ServerMark mark =
        ::IsPostmasterEnvironment && !::IsUnderPostmaster ? read_or_make_mark() : ServerMark{};
    ::LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    segment = static_cast<Registry *>(::ShmemInitStruct("hipq", sizeof(Registry), &found));
    if (!found)
        set_up(segment, mark);
    databases_tranche.set_up();
    for (const Part &part : parts())
        if (part.set_up != nullptr)
            part.set_up();
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
    for (const Part &part : parts())
        if (part.forget_database != nullptr)
            part.forget_database(database);
}

bool tell_of_scheduler_exit(int holder) noexcept
{
    bool must_look = false;
    for (const Part &part : parts())
        if (part.scheduler_exits != nullptr && part.scheduler_exits(holder))
            must_look = true;
    return must_look;
}

int executor_places()
{
    return max_worker_processes;
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

bool is_loaded()
{
    return segment != nullptr;
}

Registry *registry()
{
    return segment;
}

int scheduler_holder(int database_slot)
{
    return executor_places() + database_slot;
}

int worker_holder(std::int32_t place)
{
    return executor_places() + max_databases + place;
}

int left_running_holder()
{
    return worker_holder(worker_places());
}

int offer_holder(std::int32_t place)
{
    return left_running_holder() + 1 + place;
}

int holder_count()
{
    return offer_holder(worker_places());
}

void install_hooks()
{
    previous_request_hook = shmem_request_hook;
    shmem_request_hook = hipq_shmem_request;
    previous_startup_hook = shmem_startup_hook;
    shmem_startup_hook = hipq_shmem_startup;
}

Lock::Lock(LWLockMode mode) : TrancheLock(databases_tranche, mode) {}

void wake_process(int process)
{
    if (process != no_process)
        ::SetLatch(&ProcGlobal->allProcs[process].procLatch);
}

}  // namespace hipq::memory
