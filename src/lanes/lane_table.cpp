// Keeps all lanes in shared memory.
//
// A hash table of lanes; every entry has its own lock, one more guards the table.
#include "lane_table.hpp"

#include "core/limits/fair_quota.hpp"
#include "databases/databases.hpp"
#include "memory/memory.hpp"
#include "settings.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace hipq::lanes {

namespace {

struct LaneEntry {
    Oid database;  // InvalidOid: free
    Oid owner;     // of the queue, when the lane was made; InvalidOid: unknown
    LaneName name;
    std::uint32_t generation;
    std::int32_t next;  // in its bucket
    pg_atomic_uint64
        due;  // what lane.next_due() says, to be read without the lock; of a new lane: infinity
    pg_atomic_uint64 first_id;
    core::Lane lane;
};

struct LaneTable {
    std::int32_t capacity;
    std::int32_t used;                         // places that were ever in use: the first ones
    LaneEntry entries[FLEXIBLE_ARRAY_MEMBER];  // then the buckets, as many
};

constinit LaneTable *table = nullptr;
constinit LWLockPadded *locks = nullptr;  // that of the table, then one for each entry

constexpr const char *tranche = "hipq lanes";

LWLock &table_lock()
{
    return locks[0].lock;
}

// Of an entry of the table.
class LaneLock {
public:
    explicit LaneLock(std::int32_t index) : lock_(&locks[index + 1].lock)
    {
        ::LWLockAcquire(lock_, LW_EXCLUSIVE);
    }
    ~LaneLock() { ::LWLockRelease(lock_); }
    LaneLock(const LaneLock &) = delete;
    LaneLock &operator=(const LaneLock &) = delete;

private:
    LWLock *lock_;
};

class TableLock {
public:
    explicit TableLock(LWLockMode mode) { ::LWLockAcquire(&table_lock(), mode); }
    ~TableLock() { ::LWLockRelease(&table_lock()); }
    TableLock(const TableLock &) = delete;
    TableLock &operator=(const TableLock &) = delete;
};

Size table_size()
{
    const Size per_lane = sizeof(LaneEntry) + sizeof(std::int32_t);
    return ::add_size(offsetof(LaneTable, entries),
                      ::mul_size(per_lane, static_cast<Size>(settings::max_lanes)));
}

// Those that were ever in use.
std::span<LaneEntry> entries()
{
    return {table->entries, static_cast<std::size_t>(table->used)};
}

std::int32_t index_of(const LaneEntry &entry)
{
    return static_cast<std::int32_t>(&entry - table->entries);
}

std::int32_t &bucket_of(Oid database, const LaneName &name)
{
    auto *buckets = reinterpret_cast<std::int32_t *>(table->entries + table->capacity);
    const auto *type = reinterpret_cast<const unsigned char *>(name.type);
    std::uint32_t hash = ::hash_bytes(type, static_cast<int>(std::strlen(name.type)));
    hash = ::hash_combine(hash, ::murmurhash32(database));
    hash = ::hash_combine(hash, ::murmurhash32(name.leaf));
    hash = ::hash_combine(hash, ::murmurhash32(static_cast<std::uint32_t>(name.priority)));
    return buckets[hash % static_cast<std::uint32_t>(table->capacity)];
}

bool belongs_to(const LaneEntry &entry, Oid database, const LaneName &name)
{
    return entry.database == database && entry.name == name;
}

void show_due(LaneEntry &entry, core::LaneKey next)
{
    ::pg_atomic_write_u64(&entry.due, static_cast<std::uint64_t>(next.time));
    ::pg_atomic_write_u64(&entry.first_id, static_cast<std::uint64_t>(next.id));
}

void show_due(LaneEntry &entry)
{
    show_due(entry, entry.lane.next_due());
}

pg::Time due_of(LaneEntry &entry)
{
    return pg::Time{static_cast<std::int64_t>(::pg_atomic_read_u64(&entry.due))};
}

std::int64_t first_id_of(LaneEntry &entry)
{
    return static_cast<std::int64_t>(::pg_atomic_read_u64(&entry.first_id));
}

// Null: it is not that lane's any more. Needs the lane's lock.
LaneEntry *entry_of(LaneRef ref)
{
    LaneEntry &entry = table->entries[ref.index];
    return entry.database != InvalidOid && entry.generation == ref.generation ? &entry : nullptr;
}

// False: it is not there any more.
template <class Change>
bool change(LaneRef ref, const Change &change_lane)
{
    if (!ref.is_known())
        return false;
    const LaneLock lock(ref.index);
    LaneEntry *entry = entry_of(ref);
    if (entry == nullptr)
        return false;
    change_lane(entry->lane);
    show_due(*entry);
    return true;
}

// Whether a throttle key may be one of its jobs'.
bool belongs_to(const LaneEntry &entry, const core::LimiterName &name)
{
    return name.key == 0 ||
           (entry.name.queue_id == name.queue_id && core::name_hash(entry.name.type) == name.type);
}

// ---- the table; these need its lock ----

LaneEntry *find(Oid database, const LaneName &name)
{
    for (std::int32_t index = bucket_of(database, name); index >= 0;
         index = table->entries[index].next)
        if (belongs_to(table->entries[index], database, name))
            return &table->entries[index];
    return nullptr;
}

// Takes it out of its bucket, and its references go stale. Needs both locks.
void remove(LaneEntry &entry)
{
    std::int32_t *link = &bucket_of(entry.database, entry.name);
    while (*link != index_of(entry))
        link = &table->entries[*link].next;
    *link = entry.next;
    entry.database = InvalidOid;
    ++entry.generation;
}

// Needs both locks.
bool is_empty(LaneEntry &entry)
{
    return entry.lane.owner == core::no_owner && entry.lane.next_due() == core::lane_end;
}

// Lanes in which there is nothing, others' at least, are as good as free.
core::QuotaUse use_of(Oid owner)
{
    core::QuotaUse use{0, 0};
    for (LaneEntry &entry : entries()) {
        const bool is_own = entry.database != InvalidOid && entry.owner == owner;
        use.own += is_own ? 1 : 0;
        use.all +=
            is_own || (entry.database != InvalidOid && due_of(entry) != pg::infinity) ? 1 : 0;
    }
    return use;
}

LaneEntry *unused_entry()
{
    for (LaneEntry &entry : entries())
        if (entry.database == InvalidOid)
            return &entry;
    return table->used < table->capacity ? &table->entries[table->used++] : nullptr;
}

// That of a lane in which there is nothing: of an owner, or of any.
LaneEntry *vacated_entry(std::optional<Oid> owner)
{
    for (LaneEntry &entry : entries()) {
        if (due_of(entry) != pg::infinity || (owner.has_value() && entry.owner != *owner))
            continue;
        const LaneLock lock(index_of(entry));
        if (!is_empty(entry))
            continue;
        remove(entry);
        return &entry;
    }
    return nullptr;
}

// A place for a lane of an owner; null when there is none for it.
LaneEntry *free_entry(Oid owner)
{
    if (!core::may_take_one(core::table_quota(table->capacity, settings::max_owner_share),
                            use_of(owner)))
        return vacated_entry(owner);
    LaneEntry *entry = unused_entry();
    return entry != nullptr ? entry : vacated_entry(std::nullopt);
}

LaneEntry *make(Oid database, const LaneName &name, Oid owner)
{
    LaneEntry *entry = free_entry(owner);
    if (entry == nullptr)
        return nullptr;
    const LaneLock lock(index_of(*entry));
    entry->database = database;
    entry->owner = owner;
    entry->name = name;
    entry->lane = core::Lane{};
    show_due(*entry, core::lane_end);
    std::int32_t &bucket = bucket_of(database, name);
    entry->next = bucket;
    bucket = index_of(*entry);
    return entry;
}

LaneRef reference_to(const LaneEntry *entry)
{
    return entry == nullptr ? no_lane : LaneRef{index_of(*entry), entry->generation};
}

memory::DatabaseSlot *slot_of(Oid database)
{
    for (memory::DatabaseSlot &slot : memory::registry()->databases)
        if (slot.database == database)
            return &slot;
    return nullptr;
}

}  // namespace

LaneName::LaneName(Oid of_leaf, int of_queue, int of_priority, std::string_view of_type)
    : leaf(of_leaf), queue_id(of_queue), priority(of_priority), type{}
{
    std::memcpy(type, of_type.data(), std::min(of_type.size(), sizeof(type) - 1));
}

bool LaneName::operator==(const LaneName &other) const
{
    return leaf == other.leaf && priority == other.priority && std::strcmp(type, other.type) == 0;
}

LaneRef find_lane(const LaneName &name)
{
    if (!memory::is_loaded())
        return no_lane;
    const TableLock lock(LW_SHARED);
    return reference_to(find(MyDatabaseId, name));
}

LaneRef find_or_make_lane(const LaneName &name, Oid owner)
{
    const LaneRef known = find_lane(name);
    if (!memory::is_loaded() || known.is_known())
        return known;
    LaneRef made = no_lane;
    {
        const TableLock lock(LW_EXCLUSIVE);
        const LaneEntry *entry = find(MyDatabaseId, name);
        made = reference_to(entry != nullptr ? entry : make(MyDatabaseId, name, owner));
    }
    if (!made.is_known())
        memory::raise_alert(memory::Alert::lanes_full);
    return made;
}

void show_lane(LaneRef ref) noexcept
{
    change(ref, [](core::Lane &) {});
}

bool note_lane(LaneRef ref, core::KeyRange range, pg::Time not_before) noexcept
{
    return change(ref, [&](core::Lane &lane) { lane.note(range, not_before.value); });
}

bool note_full(LaneRef ref, core::LaneKey key, std::uint64_t throttle_key,
               pg::Time not_before) noexcept
{
    return change(ref,
                  [&](core::Lane &lane) { lane.note_full(key, throttle_key, not_before.value); });
}

void make_capacity(const core::LimiterName &name) noexcept
{
    const TableLock table_guard(LW_SHARED);
    for (LaneEntry &entry : entries()) {
        if (entry.database != name.database || !belongs_to(entry, name))
            continue;
        const LaneLock lock(index_of(entry));
        if (entry.lane.make_capacity(name.key))
            show_due(entry);
    }
}

void lose_lanes_locked(Oid database) noexcept
{
    for (LaneEntry &entry : entries()) {
        const LaneLock lock(index_of(entry));
        if (entry.database != database)
            continue;
        entry.lane.note_all();
        show_due(entry);
    }
    if (memory::DatabaseSlot *slot = slot_of(database))
        ++slot->lane_losses;
}

namespace {

// Null: neither is there, nor a free one. Needs the lock.
memory::CrowdedQueue *crowded_entry(memory::DatabaseSlot &slot, int queue_id)
{
    memory::CrowdedQueue *const found =
        std::ranges::find(slot.crowded, queue_id, &memory::CrowdedQueue::queue_id);
    memory::CrowdedQueue *const entry =
        found != slot.crowded.end()
            ? found
            : std::ranges::find(slot.crowded, 0, &memory::CrowdedQueue::queue_id);
    return entry == slot.crowded.end() ? nullptr : entry;
}

}  // namespace

void search_lanes(Oid database, int queue_id) noexcept
{
    if (!memory::is_loaded())
        return;
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(database);
    if (slot == nullptr)
        return;
    if (memory::CrowdedQueue *entry = crowded_entry(*slot, queue_id))
        *entry = {queue_id, entry->misses + 1};
    else
        ++slot->lane_losses;
}

void lose_lanes(Oid database) noexcept
{
    if (!memory::is_loaded())
        return;
    const memory::Lock lock(LW_EXCLUSIVE);
    lose_lanes_locked(database);
}

void look_again_at_lanes(Oid database) noexcept
{
    if (!memory::is_loaded())
        return;
    const TableLock table_guard(LW_SHARED);
    for (LaneEntry &entry : entries()) {
        const LaneLock lock(index_of(entry));
        if (entry.database != database)
            continue;
        entry.lane.look_again();
        show_due(entry);
    }
}

void read_lanes_again(Oid database, int queue_id) noexcept
{
    if (!memory::is_loaded())
        return;
    const TableLock table_guard(LW_SHARED);
    for (LaneEntry &entry : entries()) {
        const LaneLock lock(index_of(entry));
        if (entry.database != database || entry.name.queue_id != queue_id)
            continue;
        entry.lane.note_all();
        show_due(entry);
    }
}

pg::Time due_of(LaneRef ref)
{
    return due_of(table->entries[ref.index]);
}

std::vector<LaneInfo> list_lanes()
{
    std::vector<LaneInfo> lanes;
    if (!memory::is_loaded())
        return lanes;
    lanes.resize(static_cast<std::size_t>(table->used));  // before the lock: allocation
    std::size_t count = 0;
    {
        const TableLock lock(LW_SHARED);
        for (LaneEntry &entry : entries())
            if (entry.database == MyDatabaseId && count < lanes.size())
                lanes[count++] = {reference_to(&entry), entry.name, due_of(entry),
                                  first_id_of(entry)};
    }
    lanes.resize(count);
    return lanes;
}

std::optional<core::Lane> copy_lane(LaneRef ref)
{
    const LaneLock lock(ref.index);
    const LaneEntry *entry = entry_of(ref);
    return entry == nullptr ? std::nullopt : std::optional(entry->lane);
}

bool lanes_are_known()
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(MyDatabaseId);
    return slot != nullptr && slot->lane_losses == slot->lane_searches;
}

bool lanes_are_known(int queue_id)
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(MyDatabaseId);
    return slot != nullptr && slot->lane_losses == slot->lane_searches &&
           std::ranges::find(slot->crowded, queue_id, &memory::CrowdedQueue::queue_id) ==
               slot->crowded.end();
}

std::optional<LaneReading> begin_reading(LaneRef ref, pg::Time now)
{
    const LaneLock lock(ref.index);
    LaneEntry *entry = entry_of(ref);
    return entry == nullptr ? std::nullopt
                            : LaneReading::begin(entry->lane, memory::own_holder(), now.value);
}

void end_reading(LaneRef ref, LaneReading &reading) noexcept
{
    const LaneLock lock(ref.index);
    if (LaneEntry *entry = entry_of(ref)) {
        reading.end(entry->lane);
        show_due(*entry);
    }
}

void cancel_reading(LaneRef ref) noexcept
{
    const LaneLock lock(ref.index);
    if (LaneEntry *entry = entry_of(ref)) {
        LaneReading::cancel(entry->lane);
        show_due(*entry);
    }
}

bool cancel_readings(int holder) noexcept
{
    bool any = false;
    for (LaneEntry &entry : entries()) {
        const LaneLock lock(index_of(entry));
        if (entry.database == InvalidOid || entry.lane.owner != holder)
            continue;
        LaneReading::cancel(entry.lane);
        show_due(entry);
        any = true;
    }
    return any;
}

std::optional<unsigned> search_due()
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(MyDatabaseId);
    if (slot == nullptr || slot->lane_losses == slot->lane_searches)
        return std::nullopt;
    return slot->lane_losses;
}

void search_done(unsigned losses)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::DatabaseSlot *slot = slot_of(MyDatabaseId))
        slot->lane_searches = losses;
}

std::vector<memory::CrowdedQueue> crowded_queues()
{
    std::vector<memory::CrowdedQueue> queues(
        memory::max_crowded_queues);  // before the lock: allocation
    {
        const memory::Lock lock(LW_SHARED);
        if (const memory::DatabaseSlot *slot = slot_of(MyDatabaseId))
            std::ranges::copy(slot->crowded, queues.begin());
    }
    std::erase_if(queues, [](const memory::CrowdedQueue &queue) { return queue.queue_id == 0; });
    return queues;
}

void all_lanes_found(const memory::CrowdedQueue &queue)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(MyDatabaseId);
    if (slot == nullptr)
        return;
    for (memory::CrowdedQueue &entry : slot->crowded)
        if (entry.queue_id == queue.queue_id && entry.misses == queue.misses)
            entry = {};
}

void remove_lane(LaneRef ref)
{
    const memory::Lock registry_guard(LW_EXCLUSIVE);
    const TableLock table_guard(LW_EXCLUSIVE);
    const LaneLock lock(ref.index);
    LaneEntry *entry = entry_of(ref);
    if (entry == nullptr || entry->lane.owner != core::no_owner)
        return;
    memory::DatabaseSlot *slot = slot_of(entry->database);
    if (slot != nullptr && !is_empty(*entry))
        ++slot->lane_losses;
    remove(*entry);
}

core::Lane::Places places_of(LaneRef ref, pg::Time now)
{
    const LaneLock lock(ref.index);
    const LaneEntry *entry = entry_of(ref);
    return entry == nullptr ? core::Lane().places(now.value) : entry->lane.places(now.value);
}

bool is_covered(LaneRef ref, core::LaneKey key, std::uint64_t throttle_key)
{
    const LaneLock lock(ref.index);
    const LaneEntry *entry = entry_of(ref);
    return entry != nullptr && entry->lane.covers(key, throttle_key);
}

std::vector<DueLane> due_lanes(pg::Time now)
{
    std::vector<DueLane> lanes(
        static_cast<std::size_t>(table->used));  // before the lock: allocation
    std::size_t count = 0;
    {
        const TableLock lock(LW_SHARED);
        for (LaneEntry &entry : entries())
            if (entry.database != InvalidOid && due_of(entry) <= now && count < lanes.size())
                lanes[count++] = {entry.database, due_of(entry)};
    }
    lanes.resize(count);
    return lanes;
}

namespace {

// Needs the lock.
void forget_lanes(Oid database) noexcept
{
    const TableLock table_guard(LW_EXCLUSIVE);
    for (LaneEntry &entry : entries()) {
        const LaneLock lock(index_of(entry));
        if (entry.database == database)
            remove(entry);
    }
}

}  // namespace

void look_again_everywhere() noexcept
{
    for (LaneEntry &entry : entries()) {
        Oid database = InvalidOid;
        {
            const LaneLock lock(index_of(entry));
            database = entry.database;
            entry.lane.look_again();
            show_due(entry);
        }
        if (database != InvalidOid)
            databases::work_due(database, pg::Time{0});
    }
}

namespace {

// What the scheduler read when it ended has to be read by the next one.
void give_back_readings(memory::DatabaseSlot &slot, int holder) noexcept
{
    if (cancel_readings(holder))
        slot.next_due = pg::Time{0};
}

void request_lanes()
{
    ::RequestAddinShmemSpace(table_size());
    ::RequestNamedLWLockTranche(tranche, settings::max_lanes + 1);
}

void set_up_lanes()
{
    bool found = false;
    table = static_cast<LaneTable *>(::ShmemInitStruct("hipq lanes", table_size(), &found));
    locks = ::GetNamedLWLockTranche(tranche);
    if (found)
        return;
    std::memset(static_cast<void *>(table), 0, table_size());
    table->capacity = settings::max_lanes;
    for (std::int32_t i = 0; i < table->capacity; ++i) {
        ::pg_atomic_init_u64(&table->entries[i].due, 0);
        ::pg_atomic_init_u64(&table->entries[i].first_id, 0);
    }
    std::fill_n(reinterpret_cast<std::int32_t *>(table->entries + table->capacity), table->capacity,
                -1);
}

}  // namespace

constinit const memory::Part lanes_part{request_lanes, set_up_lanes, nullptr, forget_lanes,
                                        give_back_readings};

}  // namespace hipq::lanes
