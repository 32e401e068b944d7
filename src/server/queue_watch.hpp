// Which queues the scheduler looks at: those to which something has happened, and those that are
// due. For all others it keeps what the last look at them has found.
#pragma once

#include "core/process/due_heap.hpp"
#include "server/queue_look.hpp"

namespace hipq::server {

// Executors that a queue owner should have, and how much its queues with due jobs weigh.
struct Wanted {
    int executors = 0;
    std::int64_t weight = 0;
};

class QueueWatch {
public:
    explicit QueueWatch(std::string time_zone) : looks_{std::move(time_zone), {}, {}} {}

    // Before the catalogue is read: lanes that are lost later are looked for in the next look, as
    // they may be those of a queue that this catalogue does not know yet.
    void begin_look() { looks_.lane_search.begin_look(); }

    // Looks at them. `is_all`: something has happened that may matter to each queue in which jobs
    // wait. No transaction open.
    void look(const std::shared_ptr<const catalog::Catalogue> &catalogue, pg::Time now,
              bool is_all);

    // When the next one is due.
    pg::Time next_due() const
    {
        return std::min({pg::Time{due_.next_due()}, next_piece_, next_look_});
    }

    // What the owners want, of those too who wanted something at the look before.
    const std::map<Oid, Wanted> &wanted() const { return wanted_; }
    std::set<Oid> owners_with_due_jobs() const;
    // Forgets those who want nothing any more.
    void forget_content_owners();

    // The queues of the last look.
    const std::vector<int> &looked_at() const { return looked_at_; }

private:
    // Of a queue with jobs that are due and could run.
    struct Demand {
        Oid owner;
        Wanted wanted;
        pg::Time looked;
        bool expires;  // one of its jobs does
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
    int round_ = 0;                       // the next queue of the round; 0: there is none under way
    pg::Time next_piece_ = pg::infinity;  // of the round
    pg::Time next_look_ = pg::infinity;   // for lanes, or queues, that this one has not found
    std::shared_ptr<const catalog::Catalogue> catalogue_;
    std::vector<int> hidden_;  // queues of it that may have jobs of which no lane tells
    std::set<Oid> owners_;     // of its queues
};

}  // namespace hipq::server
