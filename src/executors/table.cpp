// Keeps the table of executors in shared memory.
#include "table.hpp"

namespace hipq::executors {

namespace {

constinit ExecutorTable *table = nullptr;
constinit memory::Tranche tranche{"HipqExecutors", memory::LockRank::executors};

Size table_size()
{
    return ::add_size(
        offsetof(ExecutorTable, slots),
        ::mul_size(sizeof(ExecutorSlot), static_cast<Size>(memory::executor_places())));
}

}  // namespace

ExecutorLock::ExecutorLock(LWLockMode mode) : TrancheLock(tranche, mode) {}

ExecutorTable &executor_table()
{
    return *table;
}

std::span<ExecutorSlot> executor_slots()
{
    return {table->slots, static_cast<std::size_t>(memory::executor_places())};
}

int index_of(const ExecutorSlot &slot)
{
    return static_cast<int>(&slot - table->slots);
}

void request_executors()
{
    ::RequestAddinShmemSpace(table_size());
    tranche.request();
}

void set_up_executors()
{
    bool found = false;
    table = static_cast<ExecutorTable *>(::ShmemInitStruct("hipq executors", table_size(), &found));
    tranche.set_up();
    if (found)
        return;
    std::memset(static_cast<void *>(table), 0, table_size());
    for (ExecutorSlot &slot : executor_slots())
        slot.process = memory::no_process;
}

}  // namespace hipq::executors
