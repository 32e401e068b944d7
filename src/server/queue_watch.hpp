// Chooses the queues that the scheduler looks at: changed ones and due ones. For all others it
// keeps what its last look has found.
#pragma once

#include "catalog/cache.hpp"
#include "core/process/due_heap.hpp"
#include "server/queue_look.hpp"

namespace hipq::server {

// The executors that a queue owner should have, and the total weight of its queues with due jobs.
struct Wanted {
    int executors = 0;
    std::int64_t weight = 0;
};

class QueueWatch {
public:
    explicit QueueWatch(std::string time_zone) : looks_{std::move(time_zone), {}, {}} {}

    // Call before the catalogue is read. Lanes that are lost later are searched in the next look,
    // because their queue may be one that this catalogue does not know yet.
    void begin_look() { looks_.lane_search.begin_look(); }

    // Looks at the chosen queues. `is_all`: something has happened that may matter to each queue
    // with waiting jobs. Call with no transaction open.
    void look(const std::shared_ptr<const catalog::Catalogue> &catalogue, pg::Time now,
              bool is_all);

    // Returns when the next look is due.
    pg::Time next_due() const
    {
        return std::min({pg::Time{due_.next_due()}, next_piece_, next_look_});
    }

    // The needs of the owners, including owners that needed executors at the previous look.
    const std::map<Oid, Wanted> &wanted() const { return wanted_; }
    std::set<Oid> owners_with_due_jobs() const;
    // Forgets owners that need no executors any more.
    void forget_content_owners();

    // The queues of the last look.
    const std::vector<int> &looked_at() const { return looked_at_; }
    // Those among them in which jobs wait because of their throttle key.
    const std::vector<int> &with_parked_keys() const { return with_parked_keys_; }

private:
    // The demand of a queue with jobs that are due and could run.
    struct Demand {
        Oid owner;
        Wanted wanted;
        pg::Time looked;
        bool expires;  // whether one of its jobs expires
        std::vector<lanes::LaneRef> lanes;
    };

    void read(const std::shared_ptr<const catalog::Catalogue> &catalogue);
    void search_new_queues(const catalog::Catalogue &catalogue) const;
    void choose(const catalog::Catalogue &catalogue, pg::Time now, bool is_all);
    void add_queues_with_something();
    void go_round(const catalog::Catalogue &catalogue, pg::Time now);
    bool can_wait(int queue_id, pg::Time now) const;
    std::int64_t patience(const Demand &demand) const;
    void note(const catalog::Queue &queue, QueueFindings findings);
    void forget(int queue_id);
    void forget_demand(int queue_id);

    QueueLooks looks_;
    std::uint64_t dirty_seen_ = 0;
    core::DueHeap<int> due_;
    std::map<int, Demand> demands_;
    std::map<Oid, Wanted> wanted_;
    std::vector<int> looked_at_;
    std::vector<int> with_parked_keys_;
    int round_ = 0;                       // the next queue of the round; 0: no round is under way
    pg::Time next_piece_ = pg::infinity;  // of the round
    pg::Time next_look_ = pg::infinity;   // for lanes or queues that this look has not found
    std::shared_ptr<const catalog::Catalogue> catalogue_;
    std::vector<int> hidden_;  // queues of the catalogue that may have jobs that no lane shows
    std::set<Oid> owners_;     // owners of its queues
};

}  // namespace hipq::server
