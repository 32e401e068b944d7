// What the router sends again to a shard that has forgotten the last it did, and what that shard
// has to forget (core/shards/resync.hpp).
#pragma once

#include "shards/resync/kept_letters.hpp"

namespace hipq::shards {

struct Resending {
    std::vector<std::string> letters;  // rows of hipq.shard_outbox, in the order to send them in
    std::vector<std::int64_t> stale;   // ids of jobs that have left the shard since
};

// What a shard has got.
struct Read {
    std::int64_t newest;  // letter
    std::int64_t whole;   // up to this one nothing is missing, and it remembers what it did then
};

// `unread`: what the router keeps for the shard and it has not received. What it sent, the router
// has taken before.
Resending choose(const std::string &instance, int node, const std::vector<KeptLetter> &unread,
                 const Read &read);

// What is true now, but for the jobs: set-up, map, moves; and what is stale. JSON. `anew`: to a
// shard that is in step.
std::string truth_for(const std::string &instance, int node, const std::vector<std::int64_t> &stale,
                      bool anew);

}  // namespace hipq::shards
