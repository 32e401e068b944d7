// A shard while the router brings it back into step.
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
    std::string since;                    // when it was created
    std::optional<std::int64_t> whole{};  // of the router's letters, if it has gone on after a gap
    bool is_told_anew = false;            // the router has forgotten, and the shard may not have

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

// Raises 42704 if there is no shard with that number.
ShardInNeed require_shard(const std::string &instance, int node);

// The signs sent to the shard so far no longer count against the router.
void forget_signs_to(const ShardInNeed &shard);

// Ends both subscriptions, so that neither reads what the other one sends. Commits.
void disconnect(const ShardInNeed &shard);

// Does the whole resync. Commits. `is_told_anew`: sends the current state even if the shard has
// forgotten nothing.
void resync_shard(const std::string &instance, int node, bool is_forced, bool is_told_anew = false);

// The same for a promoted router, and then for all its shards. By force it goes on although they
// know things that it has forgotten.
void resync_router(const std::string &instance, bool is_forced);

}  // namespace hipq::shards
