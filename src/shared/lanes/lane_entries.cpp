// Keeps the table of lanes: finds, makes and removes entries.
//
// The memory of an entry is not touched before its first use, so a table that is larger than needed
// costs only address space.
#include "shared/lanes/lane_entries.hpp"

#include "core/lanes/lane.hpp"
#include "core/lanes/pockets.hpp"
#include "core/limits/fair_quota.hpp"
#include "core/limits/throttle.hpp"
#include "settings.hpp"
#include "shared/databases/dirty_queues.hpp"
#include "shared/lanes/parked_key_table.hpp"
#include "shared/memory/tranche.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace hipq::lanes {

namespace {

struct LaneTable {
    std::int32_t capacity;
    std::int32_t used;  // the number of entries that were ever in use, which are the first ones
    LaneHead heads[FLEXIBLE_ARRAY_MEMBER];  // an equal number of buckets follows
};

constinit LaneTable *lane_table = nullptr;
constinit LaneEntry *lane_entries = nullptr;
constinit memory::Tranche lane_table_tranche{"HipqLaneTable", memory::LockRank::lane_table};
// The locks are in the entries, so that the memory of unused entries is not touched.
constinit memory::Tranche lane_tranche{"HipqLane", memory::LockRank::lane};

Size count_of_lanes()
{
    return static_cast<Size>(settings::max_lanes);
}

Size lane_table_size()
{
    return ::add_size(offsetof(LaneTable, heads),
                      ::mul_size(sizeof(LaneHead) + sizeof(std::int32_t), count_of_lanes()));
}

Size entries_size()
{
    return ::mul_size(sizeof(LaneEntry), count_of_lanes());
}

std::int32_t *buckets()
{
    return reinterpret_cast<std::int32_t *>(lane_table->heads + lane_table->capacity);
}

std::int32_t &bucket_of(Oid database, const LaneName &name)
{
    const auto *type = reinterpret_cast<const unsigned char *>(name.type);
    std::uint32_t hash = ::hash_bytes(type, static_cast<int>(std::strlen(name.type)));
    hash = ::hash_combine(hash, ::murmurhash32(database));
    hash = ::hash_combine(hash, ::murmurhash32(name.leaf));
    hash = ::hash_combine(hash, ::murmurhash32(static_cast<std::uint32_t>(name.priority)));
    return buckets()[hash % static_cast<std::uint32_t>(lane_table->capacity)];
}

void write_due(LaneHead &head, core::LaneKey next)
{
    ::pg_atomic_write_u64(&head.due, static_cast<std::uint64_t>(next.time));
    ::pg_atomic_write_u64(&head.first_id, static_cast<std::uint64_t>(next.id));
}

// Empty lanes of other owners count as free.
core::QuotaUse use_of(Oid owner)
{
    core::QuotaUse use{0, 0};
    for (LaneHead &head : heads()) {
        const bool is_own = head.database != InvalidOid && head.owner == owner;
        use.own += is_own ? 1 : 0;
        use.all += is_own || (head.database != InvalidOid && due_of(head) != pg::infinity) ? 1 : 0;
    }
    return use;
}

void begin_to_use(std::int32_t index)
{
    LaneEntry &entry = lane_entries[index];
    std::memset(static_cast<void *>(&entry), 0, sizeof(entry));
    ::LWLockInitialize(&entry.lock, lane_tranche.lock(0)->tranche);
}

std::optional<std::int32_t> unused_entry()
{
    for (const LaneHead &head : heads())
        if (head.database == InvalidOid)
            return index_of(head);
    if (lane_table->used == lane_table->capacity)
        return std::nullopt;
    begin_to_use(lane_table->used);
    return lane_table->used++;
}

// Takes the entry of an empty lane: of that owner, or of any.
std::optional<std::int32_t> vacated_entry(std::optional<Oid> owner)
{
    for (LaneHead &head : heads()) {
        if (due_of(head) != pg::infinity || (owner.has_value() && head.owner != *owner))
            continue;
        const LaneLock lock(index_of(head));
        if (!is_empty(index_of(head)))
            continue;
        remove(index_of(head));
        return index_of(head);
    }
    return std::nullopt;
}

// Returns an entry for a lane of the owner; nothing if the owner cannot have another one.
std::optional<std::int32_t> free_entry(Oid owner)
{
    if (!core::may_take_one(core::table_quota(lane_table->capacity, settings::max_owner_share),
                            use_of(owner)))
        return vacated_entry(owner);
    const auto entry = unused_entry();
    return entry.has_value() ? entry : vacated_entry(std::nullopt);
}

}  // namespace

TableLock::TableLock(LWLockMode mode) : TrancheLock(lane_table_tranche, mode) {}

LaneLock::LaneLock(std::int32_t index)
    : TrancheLock(lane_tranche, &lane_entries[index].lock, LW_EXCLUSIVE)
{
}

std::span<LaneHead> heads()
{
    return {lane_table->heads, static_cast<std::size_t>(lane_table->used)};
}

std::int32_t index_of(const LaneHead &head)
{
    return static_cast<std::int32_t>(&head - lane_table->heads);
}

LaneHead &head_at(std::int32_t index)
{
    return lane_table->heads[index];
}

LaneEntry &entry_at(std::int32_t index)
{
    return lane_entries[index];
}

LaneEntry *entry_of(LaneRef ref)
{
    LaneEntry &entry = lane_entries[ref.index];
    return head_at(ref.index).database != InvalidOid && entry.generation == ref.generation
               ? &entry
               : nullptr;
}

pg::Time due_of(LaneHead &head)
{
    return pg::Time{static_cast<std::int64_t>(::pg_atomic_read_u64(&head.due))};
}

std::int64_t first_id_of(LaneHead &head)
{
    return static_cast<std::int64_t>(::pg_atomic_read_u64(&head.first_id));
}

void show_due(std::int32_t index) noexcept
{
    LaneHead &head = head_at(index);
    write_due(head, next_due(index));
    databases::note_dirty(head.database, head.queue_id);
}

core::LaneKey next_due(std::int32_t index)
{
    const core::Lane &lane = entry_at(index).lane;
    return std::min(lane.next_due(), parked_keys().next_due(lane.keys));
}

core::LimiterName key_name(std::int32_t index, std::uint64_t throttle_key)
{
    const LaneHead &head = head_at(index);
    return {head.database, head.queue_id, entry_at(index).type, throttle_key};
}

bool is_empty(std::int32_t index)
{
    const core::Lane &lane = entry_at(index).lane;
    return lane.owner == core::no_owner && next_due(index) == core::lane_end;
}

LaneRef reference_to(std::int32_t index)
{
    return {index, entry_at(index).generation};
}

std::optional<std::int32_t> find(Oid database, const LaneName &name)
{
    for (std::int32_t index = bucket_of(database, name); index >= 0; index = entry_at(index).next)
        if (head_at(index).database == database && entry_at(index).name == name)
            return index;
    return std::nullopt;
}

std::optional<std::int32_t> make(Oid database, const LaneName &name, Oid owner)
{
    const auto index = free_entry(owner);
    if (!index.has_value())
        return std::nullopt;
    const LaneLock lock(*index);
    LaneHead &head = head_at(*index);
    head.database = database;
    head.owner = owner;
    head.queue_id = name.queue_id;
    write_due(head, core::lane_end);
    LaneEntry &entry = entry_at(*index);
    entry.name = name;
    entry.type = core::name_hash(name.type);
    entry.lane = core::Lane{};
    std::int32_t &bucket = bucket_of(database, name);
    entry.next = bucket;
    bucket = *index;
    return index;
}

void remove(std::int32_t index)
{
    LaneEntry &entry = entry_at(index);
    {
        const ParkedKeysLock lock(LW_EXCLUSIVE);
        parked_keys().forget(entry.lane.keys);
    }
    std::int32_t *link = &bucket_of(head_at(index).database, entry.name);
    while (*link != index)
        link = &entry_at(*link).next;
    *link = entry.next;
    head_at(index).database = InvalidOid;
    ++entry.generation;
}

void request_lanes()
{
    ::RequestAddinShmemSpace(::add_size(lane_table_size(), entries_size()));
    lane_table_tranche.request();
    lane_tranche.request();
}

void set_up_lanes()
{
    bool found = false;
    lane_table =
        static_cast<LaneTable *>(::ShmemInitStruct("hipq lanes", lane_table_size(), &found));
    lane_entries =
        static_cast<LaneEntry *>(::ShmemInitStruct("hipq lane entries", entries_size(), &found));
    lane_table_tranche.set_up();
    lane_tranche.set_up();
    if (found)
        return;
    std::memset(static_cast<void *>(lane_table), 0, lane_table_size());
    lane_table->capacity = settings::max_lanes;
    for (std::int32_t i = 0; i < lane_table->capacity; ++i) {
        ::pg_atomic_init_u64(&lane_table->heads[i].due, 0);
        ::pg_atomic_init_u64(&lane_table->heads[i].first_id, 0);
    }
    std::fill_n(buckets(), lane_table->capacity, -1);
}

}  // namespace hipq::lanes
