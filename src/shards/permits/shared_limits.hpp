// Limits that the nodes of a sharded instance share.
#pragma once

#include "catalog/catalog.hpp"
#include "core/limits/limiter_name.hpp"
#include "core/shards/ids.hpp"

namespace hipq::shards {

// Sorted in the order in which the rows are locked.
struct LimitKey {
    int queue_id;
    std::string job_type;           // empty: the limit of the whole queue
    std::int64_t throttle_key = 0;  // its hash; 0: the limit of the whole type
    auto operator<=>(const LimitKey &) const =
        default;  // NOLINT(modernize-use-nullptr): a false alarm of clang-tidy 14
    bool is_of_throttle_key() const { return throttle_key != 0; }
};

struct SharedLimit {
    const catalog::Queue *queue;  // of the catalogue that was read
    LimitKey key;
    core::Weight limit;

    bool is_routers() const { return queue->shards->own_node == core::router_node; }
    core::LimiterName name() const;
};

// The shared limits of a catalogue.
struct SharedLimits {
    std::vector<SharedLimit> whole{};    // of queues and types, in the order of their keys
    std::vector<SharedLimit> per_key{};  // of types, for each of their throttle keys

    // Returns the limit of one throttle key; nothing if it has none or it is not shared.
    std::optional<SharedLimit> of_key(const core::LimiterName &name) const;
    // Returns the limit with that key; nothing if there is none.
    std::optional<SharedLimit> find(const LimitKey &key) const;
};
SharedLimits shared_limits(const catalog::Catalogue &catalogue);

}  // namespace hipq::shards
