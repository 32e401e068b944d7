// Chooses the databases whose schedulers must be started, and records how the start went.
#include "shared/databases/launcher_slots.hpp"

#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "shared/databases/stand_aside.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::databases {

namespace {

// Whether the launcher may start a scheduler for this slot once it is due. Needs the lock.
bool can_start(const memory::DatabaseSlot &slot)
{
    return slot.database != InvalidOid && slot.scheduler == memory::SchedulerState::none &&
           !slot.closed && !has_valid_mark(slot.database);
}

// Among the slots that can start and are due, returns the one that has waited longest; null if
// there is none. Needs the lock.
memory::DatabaseSlot *longest_due(pg::Time now)
{
    memory::DatabaseSlot *longest = nullptr;
    for (memory::DatabaseSlot &slot : memory::registry()->databases) {
        const bool is_due = can_start(slot) && slot.next_due <= now && !is_put_off(slot, now);
        if (is_due && (longest == nullptr || slot.next_due < longest->next_due))
            longest = &slot;
    }
    return longest;
}

extern "C" void hipq_launcher_exits(int, Datum)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::registry()->launcher = memory::no_process;
}

}  // namespace

void attach_launcher()
{
    pg::call([] { ::on_shmem_exit(hipq_launcher_exits, Datum{0}); });
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::registry()->launcher = pg::own_number();
    // A previous launcher may have died between taking a slot and starting its scheduler.
    for (memory::DatabaseSlot &slot : memory::registry()->databases)
        if (slot.scheduler == memory::SchedulerState::starting)
            slot.scheduler = memory::SchedulerState::none;
}

std::size_t take_due_schedulers(pg::Time now, std::span<SchedulerTicket> tickets)
{
    std::size_t count = 0;
    const memory::Lock lock(LW_EXCLUSIVE);
    for (; count < tickets.size(); ++count) {
        memory::DatabaseSlot *slot = longest_due(now);
        if (slot == nullptr)
            break;
        slot->scheduler = memory::SchedulerState::starting;
        ++slot->generation;
        tickets[count] = SchedulerTicket{static_cast<int>(slot - memory::registry()->databases),
                                         slot->generation, slot->database};
    }
    return count;
}

pg::Time next_scheduler_due()
{
    const pg::Time now = pg::now();
    pg::Time next = pg::infinity;
    const memory::Lock lock(LW_SHARED);
    for (const memory::DatabaseSlot &slot : memory::registry()->databases)
        if (can_start(slot))
            next = std::min(next, is_put_off(slot, now) ? std::max(slot.next_due, slot.not_before)
                                                        : slot.next_due);
    return next;
}

void scheduler_failed(const SchedulerTicket &ticket)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(ticket);
    if (slot == nullptr || slot->scheduler != memory::SchedulerState::starting)
        return;
    slot->scheduler = memory::SchedulerState::none;
    put_off(*slot);
}

void scheduler_found_no_slot(const SchedulerTicket &ticket)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(ticket);
    if (slot == nullptr || slot->scheduler != memory::SchedulerState::starting)
        return;
    slot->scheduler = memory::SchedulerState::none;
    choose_scheduler_to_give_way();
}

pg::Time next_look_at_all()
{
    const memory::Lock lock(LW_SHARED);
    return memory::registry()->look_at_all_due;
}

bool take_look_at_all(pg::Time now)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::registry()->look_at_all_due > now)
        return false;
    memory::registry()->look_at_all_due = pg::infinity;
    return true;
}

void hasten_look_at_all()
{
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::registry()->look_at_all_due != pg::infinity)
        memory::registry()->look_at_all_due = pg::Time{0};
}

void close_database(const SchedulerTicket &ticket)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(ticket);
    if (slot == nullptr || slot->scheduler != memory::SchedulerState::starting)
        return;
    slot->scheduler = memory::SchedulerState::none;
    slot->closed = true;
    slot->next_due = pg::infinity;
}

}  // namespace hipq::databases
