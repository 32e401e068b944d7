// Counts the places for executors that are kept free for queue owners without any.
//
// They are counted from the slots each time, so no counter can become wrong. An owner is a role in
// a database.
#include "shared/executors/reserve.hpp"

#include "core/limits/fair_share.hpp"
#include "pg/clock.hpp"
#include "settings.hpp"
#include "shared/databases/own_slot.hpp"
#include "shared/executors/executor_slots.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::executors {

namespace {

bool counts(const ExecutorSlot &slot, const ExecutorSlot *leaving)
{
    return &slot != leaving && slot.state != ExecutorState::free &&
           slot.state != ExecutorState::orphaned;
}

// A database that no scheduler has looked at yet may have an owner, so it counts as one.
int owners_of(const memory::DatabaseSlot &slot)
{
    if (slot.database == InvalidOid || slot.closed)
        return 0;
    if (slot.queue_owners == memory::owners_not_known)
        return slot.failures == 0 ? 1 : 0;
    return slot.queue_owners;
}

int count_owners()
{
    int owners = 0;
    const memory::Lock lock(LW_SHARED);
    for (const memory::DatabaseSlot &slot : memory::registry()->databases)
        owners += owners_of(slot);
    return owners;
}

struct Owner {
    Oid database;
    Oid role;
    bool operator==(const Owner &) const = default;
};

// Counts owners with executors, up to `enough`.
int count_served_owners(const ExecutorSlot *leaving, int enough)
{
    std::array<Owner, 256> found{};
    std::size_t count = 0;
    for (const ExecutorSlot &slot : executor_slots()) {
        const Owner owner{slot.database, slot.role};
        const auto end = found.begin() + static_cast<std::ptrdiff_t>(count);
        if (!counts(slot, leaving) || std::find(found.begin(), end, owner) != end)
            continue;
        found[count++] = owner;
        if (static_cast<int>(count) >= enough || count == found.size())
            break;
    }
    return static_cast<int>(count);
}

int count_places_taken(const ExecutorSlot *leaving)
{
    return static_cast<int>(
        std::count_if(executor_slots().begin(), executor_slots().end(),
                      [&](const ExecutorSlot &slot) { return counts(slot, leaving); }));
}

int count_staying()
{
    return static_cast<int>(std::count_if(
        executor_slots().begin(), executor_slots().end(),
        [](const ExecutorSlot &slot) { return counts(slot, nullptr) && !slot.asked_to_leave; }));
}

}  // namespace

void note_queue_owners(int owners)
{
    const ExecutorLock lock(LW_EXCLUSIVE);
    if (databases::set_queue_owners(owners))
        give_out_executors(pg::now());  // another owner may have waited for this
}

Places places(const ExecutorSlot *leaving)
{
    Places result{count_places_taken(leaving), 0};
    if (settings::reserved_executors == 0 || settings::max_executors < 2)
        return result;
    const int owners = count_owners();
    const int without = owners - count_served_owners(leaving, owners);
    result.kept = core::kept_places(settings::reserved_executors, settings::max_executors, without);
    return result;
}

bool has_place(const Places &places, Oid database, Oid role)
{
    return core::may_have_another(count_alive(database, role), places.taken,
                                  settings::max_executors, places.kept);
}

bool takes_kept_place(const ExecutorSlot &slot)
{
    const int staying = count_staying();
    return staying > settings::max_executors - settings::reserved_executors &&
           count_alive(slot.database, slot.role) > 1 &&
           staying > settings::max_executors - places().kept;
}

}  // namespace hipq::executors
