// The nodes that this node reads from and writes to.
#pragma once

#include "catalog/cache.hpp"
#include "core/shards/search.hpp"

namespace hipq::nodes {

// A sharded instance of the catalogue, which must outlive this object.
struct Instance {
    int id;
    std::string name;
    const catalog::Shards *shards;

    bool is_router() const { return shards->own_node == core::router_node; }
    std::string shown(int node) const;  // shard 2 of instance "app"
};

struct Neighbour {
    int node;
    std::string conninfo;  // never from an argument of a caller
    std::string slot;      // the replication slot on this node that it reads
};

// On the router all shards, on a shard the router, with the connection string of its subscription.
std::vector<Neighbour> neighbours(const Instance &instance);

// Where a slot is according to the router's present map.
core::SlotPlace place_of(const Instance &instance, int slot);

// Waits, for some seconds at most, until the router's map contains all moves that a shard may know
// of by now. Returns false if it does not.
[[nodiscard]] bool wait_for_moves();

// Waits, for some seconds at most, until a neighbour has read everything that this server has
// written so far. Returns false if the time is over. The caller can be cancelled.
[[nodiscard]] bool wait_until_read(const Neighbour &neighbour);

// Whether an error keeps that node or this one from receiving what the other sends, as far as this
// node knows.
bool meets_error(const Instance &instance, int node);

}  // namespace hipq::nodes
