// Keeps the table of external workers.
//
// The slots are in an array, chained from the buckets that follow it.
#include "shared/workers/worker_table.hpp"

#include "core/workers/worker_health.hpp"
#include "pg/compat.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/memory/registry.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace hipq::workers {

namespace {

constexpr std::int32_t no_worker = -1;

constinit WorkerTable *shared_workers = nullptr;
constinit memory::Tranche worker_tranche{"HipqWorkers", memory::LockRank::workers};

Size worker_table_size()
{
    const Size per_worker = sizeof(WorkerSlot) + sizeof(std::int32_t);
    return ::add_size(offsetof(WorkerTable, slots),
                      ::mul_size(per_worker, static_cast<Size>(memory::worker_places())));
}

std::int32_t &bucket_of(Oid database, std::int64_t id)
{
    auto *buckets =
        reinterpret_cast<std::int32_t *>(shared_workers->slots + shared_workers->capacity);
    const std::uint32_t hash =
        ::hash_combine(::murmurhash32(static_cast<std::uint32_t>(id)), ::murmurhash32(database));
    return buckets[hash % static_cast<std::uint32_t>(shared_workers->capacity)];
}

// Returns null if all places are taken.
WorkerSlot *free_slot()
{
    for (WorkerSlot &slot : worker_slots())
        if (slot.state == WorkerState::free)
            return &slot;
    return shared_workers->used < shared_workers->capacity
               ? &shared_workers->slots[shared_workers->used++]
               : nullptr;
}

}  // namespace

WorkerLock::WorkerLock(LWLockMode mode) : TrancheLock(worker_tranche, mode) {}

WorkerTable &worker_table()
{
    return *shared_workers;
}

std::span<WorkerSlot> worker_slots()
{
    return {shared_workers->slots, static_cast<std::size_t>(shared_workers->used)};
}

std::size_t places_in_use()
{
    const WorkerLock lock(LW_SHARED);
    return worker_slots().size();
}

WorkerSlot *find_slot(Oid database, std::int64_t id)
{
    for (std::int32_t i = bucket_of(database, id); i != no_worker;
         i = shared_workers->slots[i].next)
        if (shared_workers->slots[i].id == id && shared_workers->slots[i].database == database)
            return &shared_workers->slots[i];
    return nullptr;
}

WorkerSlot *find_slot(const WorkerRef &worker)
{
    WorkerSlot &probably = shared_workers->slots[worker.place];
    const bool is_it = probably.id == worker.id && probably.database == MyDatabaseId;
    return is_it ? &probably : find_slot(MyDatabaseId, worker.id);
}

bool is_visible(const WorkerSlot &slot)
{
    const bool is_own = slot.state == WorkerState::registering && slot.process == pg::own_number();
    return is_own || slot.state == WorkerState::present || slot.state == WorkerState::ended;
}

WorkerSlot *find_present(std::int64_t id)
{
    WorkerSlot *slot = find_slot(MyDatabaseId, id);
    const bool is_there = slot != nullptr && (slot->state == WorkerState::present ||
                                              slot->state == WorkerState::ended);
    return is_there ? slot : nullptr;
}

WorkerCounts count_workers(Oid role)
{
    WorkerCounts counts{};
    for (const WorkerSlot &slot : worker_slots()) {
        if (slot.state == WorkerState::free)
            continue;
        const int registered = slot.has_departed || slot.is_successor ? 0 : 1;
        const int own = slot.role == role ? 1 : 0;
        counts.registered += registered;
        counts.places += 1;
        counts.own_registered += own * registered;
        counts.own_places += own;
    }
    return counts;
}

WorkerSlot *add_worker(const NewWorker &worker, WorkerState state, pg::Time now)
{
    WorkerSlot *slot = free_slot();
    if (slot == nullptr)
        return nullptr;
    const std::uint32_t generation = slot->generation;
    *slot = WorkerSlot{};
    slot->generation = generation;
    slot->id = worker.id;
    slot->database = MyDatabaseId;
    slot->role = worker.role;
    slot->state = state;
    slot->is_draining = worker.is_draining;
    slot->process = memory::no_process;
    slot->waiting = memory::no_process;
    slot->capacity = worker.capacity;
    slot->prefetch = worker.prefetch;
    slot->registered = now;
    slot->heartbeat = never;
    slot->ended = pg::infinity;
    slot->turned = never;
    slot->record.most_held = worker.capacity + worker.prefetch;
    slot->record.last_sign = now.value;
    slot->record.report = worker.report;
    core::keep_probe_clock(slot->record, health_limits(), now.value);
    ::strlcpy(slot->name, worker.name.c_str(), sizeof(slot->name));
    std::int32_t &bucket = bucket_of(slot->database, slot->id);
    slot->next = bucket;
    bucket = static_cast<std::int32_t>(slot - shared_workers->slots);
    return slot;
}

void end_worker(WorkerSlot &slot, pg::Time now)
{
    slot.state = WorkerState::ended;
    slot.ended = now;
    slot.pid = 0;
    slot.process = memory::no_process;
    slot.record.is_bound = false;
    slot.record.is_gone = true;
}

void free_place(WorkerSlot &slot)
{
    std::int32_t *link = &bucket_of(slot.database, slot.id);
    const auto index = static_cast<std::int32_t>(&slot - shared_workers->slots);
    while (*link != index)
        link = &shared_workers->slots[*link].next;
    *link = slot.next;
    const std::uint32_t generation = slot.generation + 1;
    slot = WorkerSlot{};
    slot.generation = generation;
    slot.process = memory::no_process;
    slot.waiting = memory::no_process;
}

namespace {

void request_workers()
{
    ::RequestAddinShmemSpace(worker_table_size());
    worker_tranche.request();
}

void set_up_workers()
{
    bool found = false;
    shared_workers =
        static_cast<WorkerTable *>(::ShmemInitStruct("hipq workers", worker_table_size(), &found));
    worker_tranche.set_up();
    if (found)
        return;
    std::memset(static_cast<void *>(shared_workers), 0, worker_table_size());
    shared_workers->capacity = memory::worker_places();
    shared_workers->most = settings::max_workers;
    for (std::int32_t i = 0; i < shared_workers->capacity; ++i) {
        shared_workers->slots[i].process = memory::no_process;
        shared_workers->slots[i].waiting = memory::no_process;
    }
    std::fill_n(reinterpret_cast<std::int32_t *>(shared_workers->slots + shared_workers->capacity),
                shared_workers->capacity, no_worker);
}

// A worker may have been waiting for the capacity.
void dispatch_again(Oid database) noexcept
{
    if (has_workers_here())
        databases::ask_for_dispatch(database);
}

}  // namespace

constinit const memory::Part workers_part{request_workers, set_up_workers, nullptr,
                                          forget_workers,  nullptr,        dispatch_again};

}  // namespace hipq::workers
