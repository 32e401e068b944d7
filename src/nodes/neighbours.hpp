// The nodes that this one reads from and writes to.
#pragma once

#include "catalog/catalog.hpp"
#include "core/shards/search.hpp"

namespace hipq::nodes {

// A sharded instance as the catalogue has it, which outlives this.
struct Instance {
    int id;
    std::string name;
    const catalog::Shards *shards;

    bool is_router() const { return shards->own_node == core::router_node; }
    std::string shown(int node) const;  // shard 2 of instance "app"
};

struct Neighbour {
    int node;
    std::string conninfo;  // never from an argument of anybody
    std::string slot;      // replication slot here from which it reads
};

// On the router all shards, on a shard the router: as its subscription reaches it.
std::vector<Neighbour> neighbours(const Instance &instance);

// Where a slot is, as the router's map says now.
core::SlotPlace place_of(const Instance &instance, int slot);

// Waits until the router's map has all moves that a shard may have heard of until now, for some
// seconds at most. False: it has not.
bool wait_for_moves();

// Waits until a neighbour has read all that this server has written so far, for some seconds at
// most. False: it has not. The caller may be cancelled.
bool wait_until_read(const Neighbour &neighbour);

// Whether an error keeps that node, or this one, from taking what the other sends, as far as this
// one knows.
bool meets_error(const Instance &instance, int node);

}  // namespace hipq::nodes
