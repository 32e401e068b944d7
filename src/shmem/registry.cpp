// The shared memory segment: size, set-up, lock.
#include "registry.hpp"

namespace hipq::shmem {

namespace {

constinit Registry *segment = nullptr;
constinit LWLock *lock = nullptr;
constinit shmem_request_hook_type previous_request_hook = nullptr;
constinit shmem_startup_hook_type previous_startup_hook = nullptr;

// Every executor is a background worker, so there can be no more than those.
Size segment_size()
{
    return ::add_size(offsetof(Registry, executors), ::mul_size(sizeof(ExecutorSlot), static_cast<Size>(max_worker_processes)));
}

void set_up(Registry *fresh)
{
    std::memset(static_cast<void *>(fresh), 0, segment_size());
    fresh->launcher = no_process;
    fresh->executor_wanted = pg::infinity;
    fresh->executor_count = max_worker_processes;
    for (DatabaseSlot &slot : fresh->databases)
        slot.process = no_process;
    for (int i = 0; i < fresh->executor_count; ++i)
        fresh->executors[i].process = no_process;
}

extern "C" void hipq_shmem_request()
{
    if (previous_request_hook != nullptr)
        previous_request_hook();
    ::RequestAddinShmemSpace(segment_size());
    ::RequestNamedLWLockTranche("hipq", 1);
}

extern "C" void hipq_shmem_startup()
{
    if (previous_startup_hook != nullptr)
        previous_startup_hook();
    bool found = false;
    ::LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    segment = static_cast<Registry *>(::ShmemInitStruct("hipq", segment_size(), &found));
    if (!found)
        set_up(segment);
    lock = &::GetNamedLWLockTranche("hipq")->lock;
    ::LWLockRelease(AddinShmemInitLock);
}

}  // namespace

bool is_loaded()
{
    return segment != nullptr;
}

Registry *registry()
{
    return segment;
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

}  // namespace hipq::shmem
