// Shares of limits, and the router's records of them, in their tables.
//
// Rows are locked in the order of their keys, and the router's records before its own share, so
// that transactions that lock several cannot deadlock. All functions need a transaction.
#pragma once

#include "core/shards/permits.hpp"
#include "shards/shards.hpp"

namespace hipq::shards {

// ---- a node's share ----

// Locks the row. Returns nothing if the node has never heard of the limit.
std::optional<core::PermitShare> lock_share(const LimitKey &key);
// The same, but creates the row if there is none.
core::PermitShare lock_or_make_share(const LimitKey &key);
void store_share(const LimitKey &key, const core::PermitShare &share);
void delete_share(const LimitKey &key);
// Returns the throttle keys with a share.
std::vector<LimitKey> keys_of_shares();

// ---- the router's records ----

struct StoredAuthority {
    core::PermitAuthority authority;
    std::vector<int> silent;  // nodes that want something and have not asked for long
    bool is_of_this_life;     // false: of a server before a promotion, which may have known more
};
// Locks the row. Returns nothing if there is none yet.
std::optional<StoredAuthority> lock_authority(const LimitKey &key);
// Does nothing if another session has created it meanwhile.
void make_authority(const LimitKey &key, std::int64_t epoch, core::Weight limit);
void restart_authority(const LimitKey &key, std::int64_t epoch);
void store_authority(const LimitKey &key, const core::PermitAuthority &before,
                     const core::PermitAuthority &after);
void delete_authority(const LimitKey &key);
// Returns the throttle keys with records; with `is_awaited`, only those of which a node waits for
// more.
std::vector<LimitKey> keys_of_authorities(bool is_awaited);
// Returns an epoch greater than all before, as far as clocks know, and greater than `known`.
std::int64_t next_epoch(std::int64_t known = 0);
// Throttle keys come and go. Their epochs do not grow: records of an unused key say nothing.
inline constexpr std::int64_t epoch_of_throttle_keys = 1;

// Returns the nodes of an instance; on its router.
std::vector<int> nodes_of(int instance_id);

// Removes everything of limits that are no longer shared: a share of one may later be another
// node's.
void forget_other_limits(const SharedLimits &limits);

}  // namespace hipq::shards
