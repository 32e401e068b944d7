// A shard as the router brings it back into step.
#pragma once

#include "core/shards/ids.hpp"
#include "shards/resync/kept_letters.hpp"

namespace hipq::shards {

struct ShardInNeed {
    std::string instance;
    int node;
    std::string conninfo;
    std::string publisher;
    std::string forth;  // publication, slot and subscription to it
    std::string back;
    std::string cluster;
    std::string since;                    // when it was made
    std::optional<std::int64_t> whole{};  // of the router's letters, if it has gone on behind a gap
    bool is_told_anew = false;            // the router has forgotten, and it may not have

    Ask there() const
    {
        return [this](const std::string &statement) { return ask(conninfo, statement); };
    }
    Line line_back() const { return {instance, node, core::router_node, there(), ask_here}; }
    Line line_forth() const
    {
        return {instance, core::router_node, node, ask_here, there(), since, whole};
    }
};

// 42704: there is none of that number.
ShardInNeed require_shard(const std::string &instance, int node);

// The router is not judged by what it has sent it so far.
void forget_signs_to(const ShardInNeed &shard);

// Neither reads what the other one sends any more. Commits.
void disconnect(const ShardInNeed &shard);

// All of it. Commits. `is_told_anew`: what is true now, whether it has forgotten anything or not.
void resync_shard(const std::string &instance, int node, bool is_forced, bool is_told_anew = false);

// The same of the router that has been promoted, and then of all its shards. By force it goes on
// though they know what it has forgotten.
void resync_router(const std::string &instance, bool is_forced);

}  // namespace hipq::shards
