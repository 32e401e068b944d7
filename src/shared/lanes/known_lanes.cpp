// Records in shared memory whether all lanes of a database are known, and which queues have unknown
// lanes.
#include "shared/lanes/lane_entries.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::lanes {

memory::DatabaseSlot *slot_of(Oid database)
{
    for (memory::DatabaseSlot &slot : memory::registry()->databases)
        if (slot.database == database)
            return &slot;
    return nullptr;
}

namespace {

// Returns the queue's entry or a free one, or null if there is neither. Needs the lock.
memory::CrowdedQueue *crowded_entry(memory::DatabaseSlot &slot, int queue_id)
{
    memory::CrowdedQueue *const found =
        std::ranges::find(slot.crowded, queue_id, &memory::CrowdedQueue::queue_id);
    memory::CrowdedQueue *const entry =
        found != slot.crowded.end()
            ? found
            : std::ranges::find(slot.crowded, 0, &memory::CrowdedQueue::queue_id);
    return entry == slot.crowded.end() ? nullptr : entry;
}

}  // namespace

void search_lanes(Oid database, int queue_id) noexcept
{
    if (!memory::is_loaded())
        return;
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(database);
    if (slot == nullptr)
        return;
    if (memory::CrowdedQueue *entry = crowded_entry(*slot, queue_id))
        *entry = {queue_id, entry->misses + 1};
    else
        ++slot->lane_losses;
}

bool lanes_are_known()
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(MyDatabaseId);
    return slot != nullptr && slot->lane_losses == slot->lane_searches;
}

bool lanes_are_known(int queue_id)
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(MyDatabaseId);
    return slot != nullptr && slot->lane_losses == slot->lane_searches &&
           std::ranges::find(slot->crowded, queue_id, &memory::CrowdedQueue::queue_id) ==
               slot->crowded.end();
}

std::optional<unsigned> search_due()
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(MyDatabaseId);
    if (slot == nullptr || slot->lane_losses == slot->lane_searches)
        return std::nullopt;
    return slot->lane_losses;
}

void search_done(unsigned losses)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::DatabaseSlot *slot = slot_of(MyDatabaseId))
        slot->lane_searches = losses;
}

std::vector<memory::CrowdedQueue> crowded_queues()
{
    std::vector<memory::CrowdedQueue> queues(
        memory::max_crowded_queues);  // allocated before the lock is taken
    {
        const memory::Lock lock(LW_SHARED);
        if (const memory::DatabaseSlot *slot = slot_of(MyDatabaseId))
            std::ranges::copy(slot->crowded, queues.begin());
    }
    std::erase_if(queues, [](const memory::CrowdedQueue &queue) { return queue.queue_id == 0; });
    return queues;
}

void all_lanes_found(const memory::CrowdedQueue &queue)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(MyDatabaseId);
    if (slot == nullptr)
        return;
    for (memory::CrowdedQueue &entry : slot->crowded)
        if (entry.queue_id == queue.queue_id && entry.misses == queue.misses)
            entry = {};
}

}  // namespace hipq::lanes
