// Changes lanes in shared memory: what may be claimable in them, and up to where they are read.
#include "shared/lanes/lane_table.hpp"

#include "core/lanes/lane.hpp"
#include "core/lanes/pockets.hpp"
#include "core/limits/limiter_name.hpp"
#include "core/limits/throttle.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/lanes/lane_entries.hpp"
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

bool note_full(LaneRef ref, core::LaneKey key, std::uint64_t throttle_key,
               pg::Time not_before) noexcept
{
    return change(ref,
                  [&](core::Lane &lane) { lane.note_full(key, throttle_key, not_before.value); });
}

// A throttle key of 0 stands for all lanes of a database.
void make_capacity(const core::LimiterName &name) noexcept
{
    const auto is_of_queue = [&](const LaneHead &head) {
        return name.key == 0 || head.queue_id == name.queue_id;
    };
    const TableLock table_guard(LW_SHARED);
    for (LaneHead &head : heads()) {
        if (head.database != name.database || !is_of_queue(head))
            continue;
        const LaneLock lock(index_of(head));
        LaneEntry &entry = entry_at(index_of(head));
        if ((name.key == 0 || core::name_hash(entry.name.type) == name.type) &&
            entry.lane.make_capacity(name.key))
            show_due(index_of(head));
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
    change_each(database, any_lane, [](LaneEntry &entry) { entry.lane.look_again(); });
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
        reading.end(entry->lane);
        show_due(ref.index);
    }
}

void cancel_reading(LaneRef ref) noexcept
{
    const LaneLock lock(ref.index);
    if (LaneEntry *entry = entry_of(ref)) {
        LaneReading::cancel(entry->lane);
        show_due(ref.index);
    }
}

bool cancel_readings(int holder) noexcept
{
    bool any = false;
    for (LaneHead &head : heads()) {
        const LaneLock lock(index_of(head));
        LaneEntry &entry = entry_at(index_of(head));
        if (head.database == InvalidOid || entry.lane.owner != holder)
            continue;
        LaneReading::cancel(entry.lane);
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
    return entry == nullptr ? core::Lane().places(now.value) : entry->lane.places(now.value);
}

bool is_covered(LaneRef ref, core::LaneKey key, std::uint64_t throttle_key)
{
    const LaneLock lock(ref.index);
    const LaneEntry *entry = entry_of(ref);
    return entry != nullptr && entry->lane.covers(key, throttle_key);
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
            entry_at(index_of(head)).lane.look_again();
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
