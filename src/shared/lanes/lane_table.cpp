// Changes lanes in shared memory: what may be claimable in them, and up to where they are read.
#include "shared/lanes/lane_table.hpp"

#include "core/lanes/lane.hpp"
#include "core/lanes/pockets.hpp"
#include "core/limits/fair_quota.hpp"
#include "core/limits/limiter_name.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/lanes/lane_entries.hpp"
#include "shared/lanes/parked_key_table.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/own_holder.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::lanes {

namespace {

// Returns false if the lane no longer exists.
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
    show_due(ref.index);
    return true;
}

// Changes each lane of a database whose head satisfies `concerns`. The heads are first read without
// a lock, so each is checked again under its lock.
template <class Concerns, class Change>
void change_each(Oid database, const Concerns &concerns, const Change &change_lane)
{
    for (LaneHead &head : heads()) {
        if (head.database != database || !concerns(head))
            continue;
        const LaneLock lock(index_of(head));
        if (head.database != database || !concerns(head))
            continue;
        change_lane(entry_at(index_of(head)));
        show_due(index_of(head));
    }
}

bool any_lane(const LaneHead &)
{
    return true;
}

// Needs the lane's lock.
void put_back_key(core::Lane &lane, LaneReading &reading)
{
    if (!reading.reads_key())
        return;
    const core::Pocket rest = reading.end_key();
    const ParkedKeysLock lock(LW_EXCLUSIVE);
    parked_keys().put_back(lane.keys, rest.range, rest.not_before);
}

// Needs the lane's lock.
void cancel_reading_of(core::Lane &lane)
{
    const ParkedKeysLock lock(LW_EXCLUSIVE);
    parked_keys().give_back(lane.keys);
    LaneReading::cancel(lane);
}

// The lanes of a type that differ in their priority only: usually one.
constexpr std::size_t most_lanes_of_key = 32;

// These functions need the lock of parked keys, and those with a lane that of the lane.
// ----------------------------------------------------------------------------------------------

// Counts the keys that an owner has parked only if that may matter.
bool may_park_one(std::int32_t index)
{
    const auto capacity = static_cast<std::int64_t>(parked_keys().capacity());
    const core::Quota quota = core::table_quota(capacity, settings::max_owner_share);
    core::QuotaUse use{static_cast<std::int64_t>(parked_keys().size()), 0};
    if (use.all < core::most_for_one(quota))
        return true;
    for (const LaneHead &head : heads())
        if (head.database != InvalidOid && head.owner == head_at(index).owner)
            use.own += entry_at(index_of(head)).lane.keys.count;
    return core::may_take_one(quota, use);
}

// ----------------------------------------------------------------------------------------------

std::size_t lanes_of_key(const core::LimiterName &name, std::span<std::int32_t> lanes)
{
    const ParkedKeysLock lock(LW_SHARED);
    return parked_keys().lanes_of(name, lanes);
}

bool make_key_ready(std::int32_t index, const core::LimiterName &name)
{
    const ParkedKeysLock lock(LW_EXCLUSIVE);
    return parked_keys().make_ready(entry_at(index).lane.keys, index, name);
}

void make_keys_ready(core::Lane &lane)
{
    const ParkedKeysLock lock(LW_EXCLUSIVE);
    parked_keys().make_all_ready(lane.keys);
}

void look_again(LaneEntry &entry)
{
    entry.lane.look_again();
    make_keys_ready(entry.lane);
}

void make_all_ready(Oid database)
{
    change_each(
        database, [](const LaneHead &head) { return entry_at(index_of(head)).lane.keys.count > 0; },
        [](LaneEntry &entry) { make_keys_ready(entry.lane); });
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
    const auto index = find(MyDatabaseId, name);
    return index.has_value() ? reference_to(*index) : no_lane;
}

LaneRef find_or_make_lane(const LaneName &name, Oid owner)
{
    const LaneRef known = find_lane(name);
    if (!memory::is_loaded() || known.is_known())
        return known;
    LaneRef made = no_lane;
    {
        const TableLock lock(LW_EXCLUSIVE);
        auto index = find(MyDatabaseId, name);
        if (!index.has_value())
            index = make(MyDatabaseId, name, owner);
        if (index.has_value())
            made = reference_to(*index);
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

bool park_key(LaneRef ref, core::KeyRange range, std::uint64_t throttle_key,
              pg::Time not_before) noexcept
{
    bool has_room = true;
    const bool is_there = change(ref, [&](core::Lane &lane) {
        const ParkedKeysLock lock(LW_EXCLUSIVE);
        has_room =
            parked_keys().park(lane.keys, ref.index, key_name(ref.index, throttle_key), range,
                               not_before.value, [&] { return may_park_one(ref.index); });
    });
    if (!has_room)
        memory::raise_alert(memory::Alert::keys_full);
    return is_there && has_room;
}

void make_capacity(const core::LimiterName &name) noexcept
{
    std::array<std::int32_t, most_lanes_of_key> lanes{};
    const std::size_t count = name.key == 0 ? lanes.size() + 1 : lanes_of_key(name, lanes);
    if (count > lanes.size()) {
        make_all_ready(name.database);
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const LaneLock lock(lanes[i]);
        if (make_key_ready(lanes[i], name))
            show_due(lanes[i]);
    }
}

void lose_lanes(Oid database) noexcept
{
    if (!memory::is_loaded())
        return;
    change_each(database, any_lane, [](LaneEntry &entry) { entry.lane.note_all(); });
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::DatabaseSlot *slot = slot_of(database))
        ++slot->lane_losses;
}

void look_again_at_lanes(Oid database) noexcept
{
    if (!memory::is_loaded())
        return;
    const TableLock table_guard(LW_SHARED);
    change_each(database, any_lane, look_again);
}

void read_lanes_again(Oid database, int queue_id) noexcept
{
    if (!memory::is_loaded())
        return;
    const TableLock table_guard(LW_SHARED);
    change_each(
        database, [&](const LaneHead &head) { return head.queue_id == queue_id; },
        [](LaneEntry &entry) { entry.lane.note_all(); });
}

pg::Time due_of(LaneRef ref)
{
    return due_of(head_at(ref.index));
}

std::optional<core::LaneKey> next_due_of(LaneRef ref)
{
    const LaneLock lock(ref.index);
    return entry_of(ref) == nullptr ? std::nullopt : std::optional(next_due(ref.index));
}

std::optional<core::Lane> copy_lane(LaneRef ref)
{
    const LaneLock lock(ref.index);
    const LaneEntry *entry = entry_of(ref);
    return entry == nullptr ? std::nullopt : std::optional(entry->lane);
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
        put_back_key(entry->lane, reading);
        reading.end(entry->lane);
        show_due(ref.index);
    }
}

void cancel_reading(LaneRef ref) noexcept
{
    const LaneLock lock(ref.index);
    if (LaneEntry *entry = entry_of(ref)) {
        cancel_reading_of(entry->lane);
        show_due(ref.index);
    }
}

std::uint64_t read_next_key(LaneRef ref, LaneReading &reading, pg::Time now) noexcept
{
    const LaneLock lock(ref.index);
    LaneEntry *entry = entry_of(ref);
    if (entry == nullptr || reading.must_end())
        return 0;
    put_back_key(entry->lane, reading);
    if (entry->lane.keys.first == core::no_key)
        return 0;
    const auto next = reading.range();
    const ParkedKeysLock keys_lock(LW_EXCLUSIVE);
    const auto taken = parked_keys().take(entry->lane.keys, now.value,
                                          next.has_value() ? next->first : core::lane_end);
    if (!taken.has_value())
        return 0;
    reading.begin_key(taken->range);
    return taken->throttle_key;
}

bool cancel_readings(int holder) noexcept
{
    bool any = false;
    for (LaneHead &head : heads()) {
        const LaneLock lock(index_of(head));
        LaneEntry &entry = entry_at(index_of(head));
        if (head.database == InvalidOid || entry.lane.owner != holder)
            continue;
        cancel_reading_of(entry.lane);
        show_due(index_of(head));
        any = true;
    }
    return any;
}

void remove_lane(LaneRef ref)
{
    const memory::Lock registry_guard(LW_EXCLUSIVE);
    const TableLock table_guard(LW_EXCLUSIVE);
    const LaneLock lock(ref.index);
    LaneEntry *entry = entry_of(ref);
    if (entry == nullptr || entry->lane.owner != core::no_owner)
        return;
    memory::DatabaseSlot *slot = slot_of(head_at(ref.index).database);
    if (slot != nullptr && !is_empty(ref.index))
        ++slot->lane_losses;
    remove(ref.index);
}

core::Lane::Places places_of(LaneRef ref, pg::Time now)
{
    const LaneLock lock(ref.index);
    const LaneEntry *entry = entry_of(ref);
    if (entry == nullptr)
        return core::Lane().places(now.value);
    core::Lane::Places places = entry->lane.places(now.value);
    places.parked_keys = entry->lane.keys.count;
    places.single_keys += parked_keys().count_ready(entry->lane.keys, now.value);
    if (const core::LaneKey due = parked_keys().next_due(entry->lane.keys); due.time > now.value)
        places.next_key_due = std::min(places.next_key_due, due.time);
    return places;
}

bool is_covered(LaneRef ref, core::LaneKey key, std::uint64_t throttle_key)
{
    const LaneLock lock(ref.index);
    const LaneEntry *entry = entry_of(ref);
    if (entry == nullptr || entry->lane.covers(key))
        return entry != nullptr;
    const ParkedKeysLock keys_lock(LW_SHARED);
    return throttle_key != 0 &&
           parked_keys().covers(ref.index, key_name(ref.index, throttle_key), key);
}

void look_again_everywhere() noexcept
{
    for (LaneHead &head : heads()) {
        Oid database = InvalidOid;
        {
            const LaneLock lock(index_of(head));
            database = head.database;
            if (database == InvalidOid)
                continue;
            look_again(entry_at(index_of(head)));
            show_due(index_of(head));
        }
        databases::work_due(database, pg::Time{0});
    }
}

namespace {

void forget_lanes(Oid database) noexcept
{
    const TableLock table_guard(LW_EXCLUSIVE);
    for (LaneHead &head : heads()) {
        if (head.database != database)
            continue;
        const LaneLock lock(index_of(head));
        remove(index_of(head));
    }
}

// The next scheduler must read again what this scheduler was reading when it exited.
bool give_back_readings(int holder) noexcept
{
    return cancel_readings(holder);
}

}  // namespace

constinit const memory::Part lanes_part{request_lanes, set_up_lanes, nullptr, forget_lanes,
                                        give_back_readings};

}  // namespace hipq::lanes
