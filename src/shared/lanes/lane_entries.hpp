// The table of lanes in shared memory, for the sources of this folder: a hash table whose entries
// have a lock each.
//
// The heads, which many processes scan, are stored close together and apart from the lanes: a scan
// of ten thousand lanes takes microseconds.
#pragma once

#include "core/lanes/lane.hpp"
#include "core/limits/limiter_name.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/registry.hpp"
#include "shared/memory/tranche.hpp"

namespace hipq::lanes {

// Changed under the table's lock and the lane's. Read under either of them, or without one to find
// out where to look.
struct LaneHead {
    Oid database;  // InvalidOid: free
    Oid owner;     // of the queue, when the lane was made; InvalidOid: unknown
    int queue_id;
    pg_atomic_uint64 due;  // lane.next_due(), readable without the lock; infinity for a new lane
    pg_atomic_uint64 first_id;
};

struct LaneEntry {
    LWLock lock;
    LaneName name;
    std::uint32_t generation;
    std::int32_t next;   // the next entry in its bucket
    std::uint64_t type;  // core::name_hash() of the job type
    core::Lane lane;
};

// The table's lock guards which lanes there are. It is taken before a lane's lock.
class TableLock : public memory::TrancheLock {
public:
    explicit TableLock(LWLockMode mode);
};

class LaneLock : public memory::TrancheLock {
public:
    explicit LaneLock(std::int32_t index);
};

// The heads that were ever in use.
std::span<LaneHead> heads();
std::int32_t index_of(const LaneHead &head);
LaneHead &head_at(std::int32_t index);
LaneEntry &entry_at(std::int32_t index);

// Returns null if the entry no longer holds that lane. Needs the lane's lock.
LaneEntry *entry_of(LaneRef ref);

pg::Time due_of(LaneHead &head);
std::int64_t first_id_of(LaneHead &head);

// Call after a change of a lane: updates its head and marks its queue as dirty. Needs the lane's
// lock.
void show_due(std::int32_t index) noexcept;

// No row in the lane that is worth a look comes before this key. Needs the lane's lock.
core::LaneKey next_due(std::int32_t index);

// The name of a throttle key of the lane, as parked keys have it. Needs the lane's lock.
core::LimiterName key_name(std::int32_t index, std::uint64_t throttle_key);

// Whether the lane is empty. Needs its lock.
bool is_empty(std::int32_t index);

// The table. These functions need its lock; make() and remove() need it exclusively.
LaneRef reference_to(std::int32_t index);
std::optional<std::int32_t> find(Oid database, const LaneName &name);
std::optional<std::int32_t> make(Oid database, const LaneName &name, Oid owner);
// Removes the lane from its bucket and makes its references stale. Needs the lane's lock too.
void remove(std::int32_t index);

// Returns null if the database has no slot. Needs the registry's lock.
memory::DatabaseSlot *slot_of(Oid database);

// Part of lanes_part.
void request_lanes();
void set_up_lanes();

}  // namespace hipq::lanes
