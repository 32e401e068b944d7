// The audit: whether jobs that wait are where claims look for them.
//
// Claims read lanes and never look back, so a job that its lane does not know of would wait for
// ever. That cannot happen by the rules of core/lanes/lane.hpp; the audit is there in case somebody
// has broken them, hipq included. It walks slowly over the live leaves, while there is work, and
// puts what it finds into its lane.
#pragma once

#include "catalog/catalog.hpp"
#include "core/lanes/lane.hpp"

namespace hipq::claim {

struct Audit {
    // A job that was not where it should be: it may have been on its way.
    struct Doubt {
        int queue_id;
        core::LaneKey key;
    };
    pg::Time last{0};
    int queue_id = 0;           // the walk is in this queue,
    std::int64_t position = 0;  // after this id
    std::vector<Doubt> doubts{};
    std::set<std::pair<int, std::int64_t>> unreadable{};  // queues and ids, that were told
};

// Goes on with the walk, audit_rate entries for each second since the last call, and looks
// again at what it doubted then. Own transaction. Returns after how many microseconds it has to be
// called again; nothing: when somebody has worked.
std::optional<std::int64_t> audit(Audit &audit, const catalog::Catalogue &catalogue, pg::Time now);

}  // namespace hipq::claim
