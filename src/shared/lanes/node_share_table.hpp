// This node's shares of limits that several nodes keep together, in shared memory. The scheduler
// sets them; processes that take capacity (capacity.hpp) obey them.
#pragma once

#include "core/limits/limiter_name.hpp"
#include "shared/lanes/in_flight_table.hpp"

namespace hipq::lanes {

// How a share was used since the last call of take_share_use().
struct ShareUse {
    core::Weight running;  // at present
    core::Weight peak;     // the highest value
    core::Weight refused;  // the weight of the lightest job that found no capacity; 0: none
};

// From now on, jobs under that limit start only within the share, which is 0 until it is known.
// Returns the jobs of the queue that a process has chosen to run but that do not count yet, by the
// serial numbers of their entries: that process may not know that the limit is shared.
std::vector<std::uint64_t> begin_share(const core::LimiterName &name);
// Returns those of the given entries that are still chosen and do not count yet.
std::vector<std::uint64_t> still_chosen(const std::vector<std::uint64_t> &entries);

ShareUse take_share_use(const core::LimiterName &name);

// Sets the share. Returns whether a job that waited has capacity now; the caller must then notify
// the processes that wait.
[[nodiscard]] bool set_share(const core::LimiterName &name, core::Weight share, bool has_all);

// Lowers the share, but not below what is running, and returns what is running. From now on that
// cannot grow beyond the share.
core::Weight lower_share(const core::LimiterName &name, core::Weight share);

// The limit is no longer shared. The caller must notify the processes that wait.
void end_share(const core::LimiterName &name);
// Ends the share of a throttle key unless it is above 0, or a job under it waits or runs. Returns
// false if the share is still there.
bool end_share_if_unused(const core::LimiterName &name);

// The shares in force in this database.
std::vector<core::LimiterName> list_shares();

// How much may run here; nothing: the limit is not shared.
struct OwnShare {
    core::Weight share;
    bool has_all;  // the share is the whole limit
};
std::optional<OwnShare> share_of(int queue_id, std::uint64_t type, std::uint64_t key);

}  // namespace hipq::lanes
