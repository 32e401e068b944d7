// What a server needs to be a node of a sharded instance.
#pragma once

#include <optional>
#include <string>

namespace hipq::shards {

struct Problem {
    std::string text;  // a clause: "wal_level is replica"
    std::string hint;
};

// Returns why this database cannot be a node, router or shard; nothing: it can.
std::optional<Problem> unfit(bool for_router);

}  // namespace hipq::shards
