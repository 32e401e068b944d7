// One instance over several servers. Declares what other rooms may use.
#pragma once

#include "catalog/cache.hpp"
#include "core/limits/limiter_name.hpp"
#include "core/shards/ids.hpp"
#include "core/shards/permit_needs.hpp"
#include "core/shards/permits.hpp"

namespace hipq::shards {

// ---- alive ----

// Sends a sign to each node that this one sends to, if there is a reason. A node that has received
// the oldest kept letter lacks none that is no longer kept; without signs a node that was sent
// nothing for hipq.outbox_keep could not prove that. Returns when the next is due; infinity: this
// server is not a node. Call with no transaction open.
pg::Time show_life(const catalog::Catalogue &catalogue);

// ---- end of sending ----

// On the router: sends the letter `last` when all transactions that may know the previous map have
// ended. Returns when to look again; infinity: no shard is to get one. A duty of the scheduler;
// call with no transaction open.
pg::Time send_last(const catalog::Catalogue &catalogue);

// ---- incoming slots ----

// Lets in jobs that are held although their keys are free: the transactions that held them
// committed after "returned" came. Returns when to look again at the latest. A duty of the
// scheduler; call with no transaction open.
pg::Time look_at_held(const catalog::Catalogue &catalogue);

// ---- shared limits ----

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

// ---- node permits ----

// What this node knows of a share.
struct KnownShare {
    SharedLimit limit;
    core::PermitShare share{};
    bool is_read = false;  // from its row
    std::vector<std::uint64_t>
        chosen{};             // lanes::begin_share(): claimers that may not know of the share
    bool is_counted = false;  // all running jobs are counted
    core::PermitDemand demand{};
    core::PermitNeed need{};
    bool is_open = false;  // on the router: a node wants more, or has not been heard
};

// The state that a scheduler keeps between looks.
struct Shares {
    std::shared_ptr<const catalog::Catalogue> catalogue{};
    SharedLimits limits{};  // of that catalogue
    std::map<LimitKey, KnownShare> known{};
    std::map<int, std::vector<int>> nodes{};  // of instances whose router this server is
    bool is_changed = false;                  // the catalogue has changed since the last look
    bool has_sharded = false;                 // there is a sharded instance
    bool are_keys_awaited = false;            // on the router: a node wants more of a throttle key
    pg::Time last{0};                         // last look
    pg::Time last_refresh{0};
    pg::Time last_turn{0};
    pg::Time next = pg::infinity;
};

// Call after the catalogue has changed, with no transaction open.
void note_catalogue(Shares &shares, const std::shared_ptr<const catalog::Catalogue> &catalogue);

// Finds out what is needed, asks for more, gives back the rest. Returns when to call it again; if
// no limit is shared, does nothing and returns infinity. Call with no transaction open.
pg::Time keep_shares(Shares &shares);

// ---- return jobs ----

// Sends the waiting jobs of slots that leave this node to the nodes that have the slots now, and
// tells these nodes which keys still run here. Returns when to call it again; infinity: no slot is
// leaving. Call with no transaction open.
pg::Time return_jobs(const catalog::Catalogue &catalogue);

// ---- send stats ----

// Sends the figures of the queues of each sharded instance to its router if they have changed since
// they were last sent, at most every two seconds. A duty of the scheduler; call with no transaction
// open. Returns when to look again; infinity: nothing goes on here.
pg::Time send_stats(const catalog::Catalogue &catalogue);

}  // namespace hipq::shards
