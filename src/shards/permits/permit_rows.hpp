// Shares of limits, and what the router knows of them, in their tables.
//
// Rows are locked in the order of their keys, and the router's records before its own share: so
// those who lock several do not wait for each other in a circle. All need a transaction.
#pragma once

#include "core/shards/permits.hpp"
#include "shards/permits/shared_limits.hpp"

namespace hipq::shards {

// ---- a node's share ----

// Nothing: it has never heard of the limit. Locks its row.
std::optional<core::PermitShare> lock_share(const LimitKey &key);
// The same, which is made if it is not there.
core::PermitShare lock_or_make_share(const LimitKey &key);
void store_share(const LimitKey &key, const core::PermitShare &share);
void delete_share(const LimitKey &key);
// Throttle keys of which there is one.
std::vector<LimitKey> keys_of_shares();

// ---- the router's records ----

struct StoredAuthority {
    core::PermitAuthority authority;
    std::vector<int> silent;  // nodes that want something and have not asked for long
    bool is_of_this_life;     // not of a server before a promotion, which may have known more
};
// Nothing: there is none yet. Locks its row.
std::optional<StoredAuthority> lock_authority(const LimitKey &key);
// Unless somebody else has made it meanwhile.
void make_authority(const LimitKey &key, std::int64_t epoch, core::Weight limit);
void restart_authority(const LimitKey &key, std::int64_t epoch);
void store_authority(const LimitKey &key, const core::PermitAuthority &before,
                     const core::PermitAuthority &after);
void delete_authority(const LimitKey &key);
// Throttle keys of which there is one; only those of which somebody waits for more.
std::vector<LimitKey> keys_of_authorities(bool is_awaited);
// Greater than all before, as far as clocks know, and than one that somebody knows.
std::int64_t next_epoch(std::int64_t known = 0);
// Throttle keys come and go. Theirs do not grow: records of one that nobody uses say nothing.
inline constexpr std::int64_t epoch_of_throttle_keys = 1;

// The nodes of an instance; on its router.
std::vector<int> nodes_of(int instance_id);

// Forgets what is of no shared limit any more: the share of one may be another's then.
void forget_other_limits(const SharedLimits &limits);

}  // namespace hipq::shards
