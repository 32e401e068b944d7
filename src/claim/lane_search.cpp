// Searches the tables for lanes that shared memory does not know.
//
// A queue is crowded if its search is not complete or has found lanes for which there is no room.
// The lanes of all other queues are known.
#include "catalog/cache.hpp"
#include "claim/claim.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::claim {

namespace {

constexpr int lanes_per_search = 300;

}  // namespace

void LaneSearch::begin_look()
{
    losses_ = lanes::search_due();
}

void LaneSearch::note_crowded()
{
    crowded_ = lanes::crowded_queues();
}

// 0: the queue is not crowded.
unsigned LaneSearch::misses_of(int queue_id) const
{
    const auto found = std::ranges::find(crowded_, queue_id, &memory::CrowdedQueue::queue_id);
    return found == crowded_.end() ? 0 : found->misses;
}

bool LaneSearch::concerns(int queue_id) const
{
    return losses_.has_value() || misses_of(queue_id) != 0;
}

std::vector<LaneHead> LaneSearch::next_heads(const catalog::Queue &queue, pg::Time now)
{
    Search &search = searches_[queue.id];
    if (search.after == LanePlace{}) {
        search.misses = misses_of(queue.id);
        search.is_missing = false;
    }
    return lane_heads(queue, now, search.after, lanes_per_search);
}

bool LaneSearch::end_heads(int queue_id)
{
    Search &search = searches_[queue_id];
    const bool is_through = search.after == LanePlace{};
    search.is_long = search.is_long || !is_through;
    const bool goes_on = search.is_long;
    if ((!is_through || search.is_missing) && misses_of(queue_id) == 0)
        lanes::search_lanes(MyDatabaseId, queue_id);
    if (!is_through || search.is_missing)
        return goes_on;
    lanes::all_lanes_found({queue_id, search.misses});
    searches_.erase(queue_id);
    return goes_on;
}

void LaneSearch::note_unsearched(int queue_id) const
{
    if (concerns(queue_id))
        lanes::search_lanes(MyDatabaseId, queue_id);
}

void LaneSearch::end_look()
{
    if (losses_.has_value())
        lanes::search_done(*losses_);
}

}  // namespace hipq::claim
