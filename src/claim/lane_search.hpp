// Looking for lanes that shared memory does not know, in the tables: after a start, and for queues
// that have more of them than there is room for.
#pragma once

#include "claim/claim_rows.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::claim {

// Of a scheduler. A queue may have very many lanes without room: each look goes through some of
// them, and the next one goes on.
class LaneSearch {
public:
    // Whether all lanes are to be looked for. Before the catalogue is read: queues that are newer
    // than it are not in the search.
    void begin_look();
    // Which queues are to be searched besides.
    void note_crowded();
    // Whether those of all queues are.
    bool concerns_all() const { return losses_.has_value(); }
    // Whether lanes of a queue are to be looked for in this look.
    bool concerns(int queue_id) const;
    // The next lanes of such a queue; needs a transaction.
    std::vector<LaneHead> next_heads(const catalog::Queue &queue, pg::Time now);
    // For one of those there is no room.
    void note_missing(int queue_id) { searches_[queue_id].is_missing = true; }
    // What next_heads() has given is looked at. Returns whether the search is to go on soon.
    bool end_heads(int queue_id);
    // A queue whose tables could not be looked at: the next look searches them if this one was to.
    void note_unsearched(int queue_id) const;
    void end_look();

private:
    struct Search {
        LanePlace after;          // the first again: it is through
        unsigned misses = 0;      // as the queue had them when it began
        bool is_missing = false;  // some lane, as far as it has come
        bool is_long = false;     // it does not come through in one look
    };
    unsigned misses_of(int queue_id) const;

    std::optional<unsigned> losses_;
    std::vector<memory::CrowdedQueue> crowded_;
    std::map<int, Search> searches_;  // by queue
};

}  // namespace hipq::claim
