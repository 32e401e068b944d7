// What the router sends again to a shard that has forgotten the last it did, and what that shard
// has to forget (core/shards/resync.hpp).
#pragma once

#include "shards/resync/kept_letters.hpp"

namespace hipq::shards {

struct Resending {
    std::vector<std::string> letters;  // rows of hipq.shard_outbox, in the order to send them in
    std::vector<std::int64_t> stale;   // ids of jobs that have left the shard since
};

// `unread`: what the router keeps for the shard and it has not received; `newest_read`: the newest
// letter that it has. What it sent, the router has taken before.
Resending choose(const std::string &instance, int node, const std::vector<KeptLetter> &unread,
                 std::int64_t newest_read);

// What is true now, but for the jobs: set-up, map, moves; and what is stale. JSON.
std::string truth_for(const std::string &instance, int node,
                      const std::vector<std::int64_t> &stale);

}  // namespace hipq::shards
