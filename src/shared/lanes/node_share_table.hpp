// This node's shares of limits that several nodes keep together, in shared memory: set by the
// scheduler, obeyed by whoever takes capacity (capacity.hpp).
#pragma once

#include "shared/lanes/in_flight_table.hpp"

namespace hipq::lanes {

// What has become of a share since the last call of take_share_uses().
struct ShareUse {
    core::Weight running;  // now
    core::Weight peak;     // the most
    core::Weight refused;  // of the lightest that found no capacity; 0: none
};

// From now on nothing starts under that limit but within the share, which is none if it is not
// known yet. Returns the jobs of the queue that somebody has chosen to run and does not count yet,
// by the serial numbers of their entries: he may not know that the limit is shared.
std::vector<std::uint64_t> begin_share(const core::LimiterName &name);
// Those of them that are still so.
std::vector<std::uint64_t> still_chosen(const std::vector<std::uint64_t> &entries);

ShareUse take_share_use(const core::LimiterName &name);

// Sets the share. Returns whether somebody who has waited has capacity now, and has to be told.
bool set_share(const core::LimiterName &name, core::Weight share, bool has_all);

// Lowers the share, to what runs if that is more, and returns what runs: it does not grow beyond
// the share any more.
core::Weight lower_share(const core::LimiterName &name, core::Weight share);

// The limit is no shared one any more. Who waits has to be told.
void end_share(const core::LimiterName &name);
// Of a throttle key: unless it has a share, or somebody waits or runs. False: it is still there.
bool end_share_if_unused(const core::LimiterName &name);

// Shares that are obeyed in this database.
std::vector<core::LimiterName> list_shares();

// What may run here; nothing: the limit is not shared.
struct OwnShare {
    core::Weight share;
    bool has_all;  // of the limit
};
std::optional<OwnShare> share_of(int queue_id, std::uint64_t type, std::uint64_t key);

}  // namespace hipq::lanes
