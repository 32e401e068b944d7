// Keeps a slot for each database: its scheduler, when it must look next, and the pending requests.
#include "shared/databases/database_slots.hpp"

#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "settings.hpp"
#include "shared/databases/dirty_queues.hpp"
#include "shared/databases/scheduler_ticket.hpp"
#include "shared/databases/stand_aside.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"

extern "C" {
#include "access/twophase.h"
}

namespace hipq::databases {

namespace {

// A closed database's slot can be reused: the launcher can find out again everything that the slot
// holds.
bool is_free(const memory::DatabaseSlot &slot)
{
    return slot.database == InvalidOid ||
           (slot.closed && slot.scheduler == memory::SchedulerState::none);
}

std::span<memory::DatabaseSlot> slots_in_use()
{
    return {memory::registry()->databases, static_cast<std::size_t>(settings::max_databases)};
}

// Needs the lock.
void must_look_at_all(pg::Time due)
{
    pg::Time &look_at_all_due = memory::registry()->look_at_all_due;
    look_at_all_due = std::min(look_at_all_due, due);
}

// Chooses a slot to reuse when none is free: that of the database whose next look is furthest away.
// The launcher looks at all databases when that look is due. Returns null if every database has a
// scheduler or is due.
memory::DatabaseSlot *slot_to_give_up(pg::Time now)
{
    memory::DatabaseSlot *latest = nullptr;
    for (memory::DatabaseSlot &slot : slots_in_use())
        if (slot.scheduler == memory::SchedulerState::none && slot.next_due > now &&
            (latest == nullptr || slot.next_due > latest->next_due))
            latest = &slot;
    if (latest != nullptr)
        must_look_at_all(latest->next_due);
    memory::raise_alert(memory::Alert::databases_full);
    return latest;
}

// Returns the slot of a database, assigning one if it has none; null if no slot can be had. Needs
// the lock.
memory::DatabaseSlot *slot_for(Oid database)
{
    memory::DatabaseSlot *free_slot = nullptr;
    for (memory::DatabaseSlot &slot : slots_in_use()) {
        if (slot.database == database)
            return &slot;
        if (is_free(slot) && (free_slot == nullptr || (free_slot->closed && !slot.closed)))
            free_slot = &slot;
    }
    if (free_slot == nullptr)
        free_slot = slot_to_give_up(pg::now());
    if (free_slot != nullptr)
        *free_slot = memory::DatabaseSlot{.database = database,
                                          .scheduler = memory::SchedulerState::none,
                                          .generation = free_slot->generation + 1,
                                          .watches_prefetched = false,
                                          .process = memory::no_process,
                                          .started = pg::Time{0},
                                          .last_look = pg::Time{0},
                                          .is_looking = false,
                                          .must_give_way = false,
                                          .dispatch_asked = false,
                                          .shares_asked = false,
                                          .shares_changed = false,
                                          .next_due = pg::infinity,
                                          .not_before = pg::Time{0},
                                          .failures = 0,
                                          .closed = false,
                                          .changed = false,
                                          .queue_owners = memory::owners_not_known,
                                          .looked = false,
                                          .restores = 1,
                                          .aimed_calls = 1,
                                          .wait_calls = 1,
                                          .waits_seen = 0,
                                          .batches_open_until = pg::infinity,
                                          .waits_asked = false,
                                          .prepares = 0,
                                          .lane_losses = 1,
                                          .lane_searches = 0,
                                          .crowded = {},
                                          .signs = {},
                                          .recovered = 0};
    return free_slot;
}

// Returns the slot of a database. If there is no room, has the launcher look at all databases, and
// returns null. Needs the lock.
memory::DatabaseSlot *slot_or_overflow(Oid database)
{
    memory::DatabaseSlot *slot = slot_for(database);
    if (slot != nullptr)
        return slot;
    must_look_at_all(pg::Time{0});
    if (memory::registry()->launcher != pg::own_number())
        memory::wake_process(memory::registry()->launcher);
    return nullptr;
}

void wake_whoever_looks_at(const memory::DatabaseSlot &slot)
{
    memory::wake_process(slot.scheduler == memory::SchedulerState::running
                             ? slot.process
                             : memory::registry()->launcher);
}

}  // namespace

void look_due(Oid database, pg::Time due) noexcept
{
    if (!memory::is_loaded())
        return;
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_or_overflow(database);
    if (slot == nullptr || slot->closed || slot->next_due <= due)
        return;
    slot->next_due = due;
    wake_whoever_looks_at(*slot);
}

namespace {

// Sets the flag, unless it is set already, and requests a scheduler if none runs.
void ask_for(Oid database, bool memory::DatabaseSlot::*asked) noexcept
{
    if (!memory::is_loaded())
        return;
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_or_overflow(database);
    if (slot == nullptr || slot->closed || slot->*asked)
        return;
    slot->*asked = true;
    if (slot->scheduler != memory::SchedulerState::running)
        slot->next_due = pg::Time{0};
    wake_whoever_looks_at(*slot);
}

}  // namespace

void ask_for_dispatch(Oid database) noexcept
{
    ask_for(database, &memory::DatabaseSlot::dispatch_asked);
}

void ask_for_waits(Oid database) noexcept
{
    ask_for(database, &memory::DatabaseSlot::waits_asked);
}

void waits_unknown(Oid database) noexcept
{
    if (!memory::is_loaded())
        return;
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::DatabaseSlot *slot = slot_or_overflow(database); slot != nullptr)
        ++slot->wait_calls;
}

void all_waits_unknown() noexcept
{
    const memory::Lock lock(LW_EXCLUSIVE);
    for (memory::DatabaseSlot &slot : slots_in_use()) {
        ++slot.wait_calls;
        if (slot.database == InvalidOid || slot.closed)
            continue;
        slot.waits_asked = true;
        if (slot.scheduler != memory::SchedulerState::running)
            slot.next_due = pg::Time{0};
        wake_whoever_looks_at(slot);
    }
}

void ask_for_shares(Oid database) noexcept
{
    ask_for(database, &memory::DatabaseSlot::shares_asked);
}

void shares_changed(Oid database) noexcept
{
    ask_for(database, &memory::DatabaseSlot::shares_changed);
}

void database_changed(Oid database) noexcept
{
    if (!memory::is_loaded())
        return;
    note_all_dirty(database);
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_or_overflow(database);
    if (slot == nullptr)
        return;
    slot->closed = false;
    slot->changed = true;
    slot->next_due = pg::Time{0};
    wake_whoever_looks_at(*slot);
}

void jobs_restored(Oid database) noexcept
{
    if (!memory::is_loaded())
        return;
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::DatabaseSlot *slot = slot_or_overflow(database); slot != nullptr)
        ++slot->restores;
}

bool is_recovered(Oid database) noexcept
{
    const memory::Lock lock(LW_SHARED);
    return std::ranges::any_of(slots_in_use(), [&](const memory::DatabaseSlot &slot) {
        return slot.database == database && slot.recovered == slot.restores;
    });
}

void reader_came() noexcept
{
    if (!memory::is_loaded())
        return;
    const memory::Lock lock(LW_EXCLUSIVE);
    ++memory::registry()->readers;
    for (memory::DatabaseSlot &slot : slots_in_use())
        if (slot.database != InvalidOid && !slot.closed) {
            slot.next_due = pg::Time{0};
            wake_whoever_looks_at(slot);
        }
}

unsigned count_readers() noexcept
{
    const memory::Lock lock(LW_SHARED);
    return memory::registry()->readers;
}

void jobs_aimed(Oid database) noexcept
{
    if (!memory::is_loaded())
        return;
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::DatabaseSlot *slot = slot_or_overflow(database); slot != nullptr)
        ++slot->aimed_calls;
}

void note_prepared() noexcept
{
    if (!memory::is_loaded())
        return;
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::DatabaseSlot *slot = slot_or_overflow(MyDatabaseId); slot != nullptr)
        slot->prepares = ++memory::registry()->prepares;
    memory::wake_process(memory::registry()->launcher);
}

std::vector<Prepares> list_prepares()
{
    if (max_prepared_xacts == 0)
        return {};
    std::vector<Prepares> prepares(memory::max_databases);  // allocated before the lock is taken
    std::size_t count = 0;
    {
        const memory::Lock lock(LW_SHARED);
        for (const memory::DatabaseSlot &slot : slots_in_use())
            if (slot.database != InvalidOid && slot.prepares != 0)
                prepares[count++] = {slot.database, slot.prepares};
    }
    prepares.resize(count);
    return prepares;
}

namespace {

// Whether a scheduler looks soon. It frees the slot if the database has no hipq. Needs the lock.
bool looks_soon(const memory::DatabaseSlot &slot, pg::Time now)
{
    if (slot.database == InvalidOid || slot.closed || has_valid_mark(slot.database))
        return false;
    return slot.scheduler == memory::SchedulerState::none
               ? slot.next_due <= now && !is_put_off(slot, now)
               : slot.scheduler != memory::SchedulerState::running;
}

}  // namespace

bool make_known(Oid database, bool insists)
{
    const pg::Time now = pg::now();
    const auto slots = slots_in_use();
    const memory::Lock lock(LW_EXCLUSIVE);
    if (std::ranges::any_of(slots, [&](const auto &slot) { return slot.database == database; }))
        return true;
    if (!insists && std::ranges::none_of(slots, is_free) &&
        std::ranges::any_of(slots, [&](const auto &slot) { return looks_soon(slot, now); }))
        return false;
    memory::DatabaseSlot *slot = slot_for(database);
    if (slot == nullptr)
        return false;
    slot->changed = true;
    slot->next_due = pg::Time{0};
    return true;
}

bool is_in_order(Oid database)
{
    const memory::Lock lock(LW_SHARED);
    return std::any_of(
        std::begin(memory::registry()->databases), std::end(memory::registry()->databases),
        [&](const memory::DatabaseSlot &slot) {
            return slot.database == database && slot.looked && !slot.closed && slot.failures == 0;
        });
}

bool is_closed(Oid database)
{
    const memory::Lock lock(LW_SHARED);
    return std::any_of(
        std::begin(memory::registry()->databases), std::end(memory::registry()->databases),
        [&](const memory::DatabaseSlot &slot) { return slot.database == database && slot.closed; });
}

namespace {

constexpr std::int64_t rights_look_interval = 1'000'000;  // us

// Returns how much of the interval since the last request is left. Needs the lock.
std::int64_t left_of_rights_interval(pg::Time now)
{
    const std::int64_t passed = now.value - memory::registry()->rights_look.value;
    return passed < 0 ? 0 : rights_look_interval - passed;  // the clock may have been set back
}

// Needs the lock.
void ask_all_to_look(pg::Time now) noexcept
{
    memory::registry()->rights_look = now;
    memory::registry()->rights_look_waits = false;
    for (memory::DatabaseSlot &slot : memory::registry()->databases) {
        if (slot.scheduler != memory::SchedulerState::running)
            continue;
        note_all_dirty(slot.database);
        slot.next_due = pg::Time{0};
        memory::wake_process(slot.process);
    }
}

}  // namespace

void everybody_looks() noexcept
{
    if (!memory::is_loaded())
        return;
    const pg::Time now{::GetCurrentTimestamp()};
    const memory::Lock lock(LW_EXCLUSIVE);
    if (left_of_rights_interval(now) <= 0)
        ask_all_to_look(now);
    else if (!std::exchange(memory::registry()->rights_look_waits, true))
        memory::wake_process(memory::registry()->launcher);
}

std::optional<std::int64_t> pass_on_rights_look()
{
    const pg::Time now{::GetCurrentTimestamp()};
    const memory::Lock lock(LW_EXCLUSIVE);
    if (!memory::registry()->rights_look_waits)
        return std::nullopt;
    const std::int64_t left = left_of_rights_interval(now);
    if (left > 0)
        return left;
    ask_all_to_look(now);
    return std::nullopt;
}

void watch_prefetched()
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_for(MyDatabaseId);
    if (slot == nullptr || slot->watches_prefetched)
        return;
    slot->watches_prefetched = true;
    if (slot->scheduler == memory::SchedulerState::running) {
        memory::wake_process(slot->process);
    } else {
        slot->next_due = pg::Time{0};
        memory::wake_process(memory::registry()->launcher);
    }
}

namespace {

// A scheduler that is about to start there finds that its ticket is no longer valid.
void forget_slot(Oid database) noexcept
{
    const memory::Lock lock(LW_EXCLUSIVE);
    for (memory::DatabaseSlot &slot : memory::registry()->databases)
        if (slot.database == database && slot.process == memory::no_process)
            slot.database = InvalidOid;
}

}  // namespace

constinit const memory::Part databases_part{nullptr, nullptr, nullptr, forget_slot};

}  // namespace hipq::databases
