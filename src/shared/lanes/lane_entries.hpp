// The table of lanes in shared memory, for the sources of this room: a hash table whose entries
// have a lock each.
//
// What everybody looks through is kept apart from the lanes themselves, close together: going over
// ten thousand lanes takes microseconds.
#pragma once

#include "shared/lanes/lane_table.hpp"
#include "shared/memory/registry.hpp"
#include "shared/memory/tranche.hpp"

namespace hipq::lanes {

// Changed under the table's lock and the lane's; read under either, or to find out where to look.
struct LaneHead {
    Oid database;  // InvalidOid: free
    Oid owner;     // of the queue, when the lane was made; InvalidOid: unknown
    int queue_id;
    pg_atomic_uint64
        due;  // what lane.next_due() says, to be read without the lock; of a new lane: infinity
    pg_atomic_uint64 first_id;
};

struct LaneEntry {
    LWLock lock;
    LaneName name;
    std::uint32_t generation;
    std::int32_t next;  // in its bucket
    core::Lane lane;
};

// Of the table: which lanes there are. Taken before a lane's.
class TableLock : public memory::TrancheLock {
public:
    explicit TableLock(LWLockMode mode);
};

class LaneLock : public memory::TrancheLock {
public:
    explicit LaneLock(std::int32_t index);
};

// Those that were ever in use.
std::span<LaneHead> heads();
std::int32_t index_of(const LaneHead &head);
LaneHead &head_at(std::int32_t index);
LaneEntry &entry_at(std::int32_t index);

// Null: it is not that lane's any more. Needs the lane's lock.
LaneEntry *entry_of(LaneRef ref);

pg::Time due_of(LaneHead &head);
std::int64_t first_id_of(LaneHead &head);

// After a change of a lane: what its head says of it, and that its queue is dirty. Needs its lock.
void show_due(std::int32_t index) noexcept;

// Whether there is nothing in it. Needs its lock.
bool is_empty(std::int32_t index);

// The table. These need its lock, the last two to write.
LaneRef reference_to(std::int32_t index);
std::optional<std::int32_t> find(Oid database, const LaneName &name);
std::optional<std::int32_t> make(Oid database, const LaneName &name, Oid owner);
// Takes it out of its bucket, and its references go stale. Needs the lane's lock as well.
void remove(std::int32_t index);

// Null: nothing is known of it. Needs the registry's lock.
memory::DatabaseSlot *slot_of(Oid database);

// Part of lanes_part.
void request_lanes();
void set_up_lanes();

}  // namespace hipq::lanes
