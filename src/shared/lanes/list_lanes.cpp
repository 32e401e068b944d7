// Lists lanes from their heads: all, those of a queue, those that are due.
//
// The lanes are counted without a lock first, because memory must not be allocated under a lock.
// The process that makes a lane in between reports it.
#include "shared/lanes/lane_entries.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::lanes {

namespace {

using Indexes = std::vector<std::int32_t>;

template <class Wanted>
Indexes find_all(const Wanted &is_wanted)
{
    Indexes indexes;
    if (memory::is_loaded())
        for (LaneHead &head : heads())
            if (head.database == MyDatabaseId && is_wanted(head))
                indexes.push_back(index_of(head));
    return indexes;
}

std::vector<LaneInfo> copy(const Indexes &indexes)
{
    std::vector<LaneInfo> lanes(indexes.size());  // allocated before the lock is taken
    std::size_t count = 0;
    {
        const TableLock lock(LW_SHARED);
        for (const std::int32_t index : indexes)
            if (LaneHead &head = head_at(index); head.database == MyDatabaseId)
                lanes[count++] = {reference_to(index), entry_at(index).name, due_of(head),
                                  first_id_of(head)};
    }
    lanes.resize(count);
    return lanes;
}

// Keeps only the lanes within the window, and advances the window.
void cut(Indexes &indexes, LaneWindow &window)
{
    if (indexes.size() <= window.most)
        return;
    const auto turn = [&](std::int32_t index) {
        const int queue_id = head_at(index).queue_id;
        return std::pair(queue_id < window.first_queue, queue_id);
    };
    const auto comes_before = [&](std::int32_t left, std::int32_t right) {
        return turn(left) < turn(right);
    };
    const auto last = indexes.begin() + static_cast<std::ptrdiff_t>(window.most) - 1;
    std::nth_element(indexes.begin(), last, indexes.end(), comes_before);
    const auto end = turn(*last);
    std::erase_if(indexes, [&](std::int32_t index) { return end < turn(index); });
    window.first_queue = end.second + 1;
}

}  // namespace

std::vector<LaneInfo> list_lanes()
{
    return copy(find_all([](LaneHead &) { return true; }));
}

std::vector<LaneInfo> lanes_of_queue(int queue_id)
{
    return copy(find_all(
        [&](LaneHead &head) { return head.queue_id == queue_id && due_of(head) != pg::infinity; }));
}

std::vector<int> queues_with_lanes()
{
    std::vector<int> queues;
    for (const std::int32_t index :
         find_all([](LaneHead &head) { return due_of(head) != pg::infinity; }))
        queues.push_back(head_at(index).queue_id);
    std::sort(queues.begin(), queues.end());
    queues.erase(std::unique(queues.begin(), queues.end()), queues.end());
    return queues;
}

LanesByDue lanes_by_due(Oid owner, pg::Time now, LaneWindow *window)
{
    pg::Time next = pg::infinity;
    Indexes indexes = find_all([&](LaneHead &head) {
        const pg::Time due = due_of(head);
        if (due > now && (owner == InvalidOid || head.owner == owner))
            next = std::min(next, due);
        return due <= now;
    });
    const std::size_t count = indexes.size();
    if (window != nullptr)
        cut(indexes, *window);
    return {copy(indexes), next, count - indexes.size()};
}

std::vector<DueLane> due_lanes(pg::Time now)
{
    std::vector<DueLane> lanes;
    for (LaneHead &head : heads())
        if (const Oid database = head.database; database != InvalidOid && due_of(head) <= now)
            lanes.push_back({database, due_of(head)});
    return lanes;
}

}  // namespace hipq::lanes
