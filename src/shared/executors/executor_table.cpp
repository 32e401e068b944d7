// Keeps the table of executors in shared memory.
#include "shared/executors/executor_table.hpp"

namespace hipq::executors {

namespace {

constinit ExecutorTable *shared_executors = nullptr;
constinit memory::Tranche executor_tranche{"HipqExecutors", memory::LockRank::executors};

Size executor_table_size()
{
    return ::add_size(
        offsetof(ExecutorTable, slots),
        ::mul_size(sizeof(ExecutorSlot), static_cast<Size>(memory::executor_places())));
}

}  // namespace

ExecutorLock::ExecutorLock(LWLockMode mode) : TrancheLock(executor_tranche, mode) {}

ExecutorTable &executor_table()
{
    return *shared_executors;
}

std::span<ExecutorSlot> executor_slots()
{
    return {shared_executors->slots, static_cast<std::size_t>(memory::executor_places())};
}

int index_of(const ExecutorSlot &slot)
{
    return static_cast<int>(&slot - shared_executors->slots);
}

void request_executors()
{
    ::RequestAddinShmemSpace(executor_table_size());
    executor_tranche.request();
}

void set_up_executors()
{
    bool found = false;
    shared_executors = static_cast<ExecutorTable *>(
        ::ShmemInitStruct("hipq executors", executor_table_size(), &found));
    executor_tranche.set_up();
    if (found)
        return;
    std::memset(static_cast<void *>(shared_executors), 0, executor_table_size());
    for (ExecutorSlot &slot : executor_slots())
        slot.process = memory::no_process;
}

}  // namespace hipq::executors
