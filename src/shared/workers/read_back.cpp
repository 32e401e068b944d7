// Reads workers from the table after a restart, and forgets workers that are gone for good.
#include "pg/clock.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/workers/worker_table.hpp"

namespace hipq::workers {

bool restore_worker(const NewWorker &worker)
{
    const pg::Time now = pg::now();
    bool has_capacity = true;
    {
        const WorkerLock lock(LW_EXCLUSIVE);
        if (find_slot(MyDatabaseId, worker.id) != nullptr)
            return true;
        const bool is_full = count_workers(worker.role).registered >= worker_table().most;
        WorkerSlot *slot = is_full ? nullptr : add_worker(worker, WorkerState::present, now);
        has_capacity = slot != nullptr;
        if (has_capacity && worker.is_bound)
            end_worker(*slot, now);
    }
    if (!has_capacity)
        memory::raise_alert(memory::Alert::workers_full);
    return has_capacity;
}

bool are_workers_read()
{
    const WorkerLock lock(LW_SHARED);
    const auto &databases_read = worker_table().databases_read;
    return std::ranges::find(databases_read, MyDatabaseId) != std::end(databases_read);
}

std::uint64_t worker_changes()
{
    const WorkerLock lock(LW_SHARED);
    return worker_table().changes;
}

bool note_workers_read(std::uint64_t changes)
{
    const WorkerLock lock(LW_EXCLUSIVE);
    WorkerTable &table = worker_table();
    if (table.changes != changes)
        return false;
    Oid *place = std::ranges::find(table.databases_read, InvalidOid);
    if (place != std::end(table.databases_read))
        *place = MyDatabaseId;
    return true;
}

void remove_worker(std::int64_t id) noexcept
{
    const WorkerLock lock(LW_EXCLUSIVE);
    WorkerSlot *slot = find_present(id);
    if (slot != nullptr)
        free_place(*slot);
}

void forget_workers(Oid database) noexcept
{
    const WorkerLock lock(LW_EXCLUSIVE);
    for (WorkerSlot &slot : worker_slots())
        if (slot.state != WorkerState::free && slot.database == database)
            free_place(slot);
    std::ranges::replace(worker_table().databases_read, database, InvalidOid);
    ++worker_table().changes;
}

}  // namespace hipq::workers
