// What the router sends again to a shard that has forgotten its last work, and what that shard has
// to forget (core/shards/resync.hpp).
#pragma once

#include "shards/resync/kept_letters.hpp"

namespace hipq::shards {

struct Resending {
    std::vector<std::string> letters;  // rows of hipq.shard_outbox, in the order to send them in
    std::vector<std::int64_t> stale;   // ids of jobs that have left the shard since
};

// The letters that a shard has received.
struct Read {
    std::int64_t newest;  // the newest one
    std::int64_t whole;   // up to this one nothing is missing, and the shard remembers its work
};

// `unread`: letters that the router keeps for the shard and it has not received. The router must
// have taken the shard's own letters before.
Resending choose(const std::string &instance, int node, const std::vector<KeptLetter> &unread,
                 const Read &read);

// Returns the current state except the jobs, as JSON: set-up, map, moves, and the stale jobs.
// `anew`: for a shard that is in step.
std::string truth_for(const std::string &instance, int node, const std::vector<std::int64_t> &stale,
                      bool anew);

}  // namespace hipq::shards
