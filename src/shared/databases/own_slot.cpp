// Exchanges requests and results between this process, as a scheduler, and other processes.
#include "shared/databases/own_slot.hpp"

#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "shared/databases/stand_aside.hpp"
#include "shared/memory/own_holder.hpp"

namespace hipq::databases {

namespace {

constinit SchedulerTicket mine{-1, 0, InvalidOid};

// Frees a slot that holds no information any more. Needs the lock.
void release_if_unused(memory::DatabaseSlot &slot)
{
    if (slot.next_due == pg::infinity && slot.failures == 0 && !slot.closed)
        slot.database = InvalidOid;
}

bool has_own_slot()
{
    const memory::Lock lock(LW_SHARED);
    return slot_of(mine) != nullptr;
}

// Gives the slot back. Needs the lock.
void detach_scheduler(int exit_code, bool must_look)
{
    memory::DatabaseSlot *slot = slot_of(mine);
    mine.slot = -1;
    memory::set_own_holder(-1);
    if (slot == nullptr)
        return;
    slot->scheduler = memory::SchedulerState::none;
    slot->process = memory::no_process;
    slot->must_give_way = false;
    if (slot->dispatch_asked || slot->waits_asked || slot->shares_asked || slot->shares_changed ||
        must_look)
        slot->next_due = pg::Time{0};
    if (exit_code == 0) {
        slot->failures = 0;
        release_if_unused(*slot);
    } else {  // the scheduler did not leave by itself: another one must look
        slot->next_due = pg::Time{0};
        if (!has_valid_mark(slot->database))
            put_off(*slot);
    }
    memory::wake_process(memory::registry()->launcher);
}

extern "C" void hipq_scheduler_exits(int code, Datum)
{
    const bool must_look = has_own_slot() && memory::tell_of_scheduler_exit(memory::own_holder());
    {
        const memory::Lock lock(LW_EXCLUSIVE);
        detach_scheduler(code, must_look);
    }
    announce_departure();
}

}  // namespace

bool attach_scheduler(const SchedulerTicket &ticket)
{
    pg::call([] { ::on_shmem_exit(hipq_scheduler_exits, Datum{0}); });
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(ticket);
    if (slot == nullptr || slot->scheduler != memory::SchedulerState::starting)
        return false;
    if (has_valid_mark(ticket.database)) {
        slot->scheduler = memory::SchedulerState::none;
        return false;
    }
    slot->scheduler = memory::SchedulerState::running;
    slot->process = pg::own_number();
    slot->started = pg::now();
    mine = ticket;
    memory::set_own_holder(memory::scheduler_holder(ticket.slot));
    return true;
}

int own_database_slot()
{
    return mine.slot;
}

void begin_look()
{
    const pg::Time now = pg::now();
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(mine);
    if (slot == nullptr)
        return;
    slot->next_due = pg::infinity;
    slot->changed = false;
    slot->last_look = now;
    slot->is_looking = true;
}

std::optional<unsigned> recovery_due()
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(mine);
    if (slot == nullptr || slot->recovered == slot->restores)
        return std::nullopt;
    return slot->restores;
}

bool set_queue_owners(int owners)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    return std::exchange(memory::registry()->databases[mine.slot].queue_owners, owners) != owners;
}

bool was_asked_for_waits()
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(mine);
    return slot != nullptr && std::exchange(slot->waits_asked, false);
}

WaitCalls wait_calls()
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(mine);
    return slot == nullptr
               ? WaitCalls{}
               : WaitCalls{slot->wait_calls, slot->waits_seen, slot->batches_open_until};
}

void waits_seen(unsigned calls, pg::Time open_until)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::DatabaseSlot *slot = slot_of(mine); slot != nullptr) {
        slot->waits_seen = calls;
        slot->batches_open_until = open_until;
    }
}

unsigned count_aimed_calls()
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(mine);
    return slot == nullptr ? 0 : slot->aimed_calls;
}

void recovery_done(unsigned restores)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::DatabaseSlot *slot = slot_of(mine); slot != nullptr)
        slot->recovered = restores;
}

pg::Time end_look(pg::Time next_due)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(mine);
    if (slot == nullptr)
        return next_due;
    slot->failures = 0;
    slot->looked = true;
    slot->is_looking = false;
    slot->next_due = std::min(slot->next_due, next_due);
    return slot->next_due;
}

bool was_asked_for_dispatch()
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(mine);
    return slot != nullptr && std::exchange(slot->dispatch_asked, false);
}

SharesAsked shares_asked()
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(mine);
    return slot == nullptr ? SharesAsked{} : SharesAsked{slot->shares_asked, slot->shares_changed};
}

SharesAsked take_shares_asked()
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(mine);
    if (slot == nullptr)
        return {};
    return {std::exchange(slot->shares_asked, false), std::exchange(slot->shares_changed, false)};
}

pg::Time next_look()
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(mine);
    if (slot == nullptr)
        return pg::infinity;
    return slot->must_give_way ? pg::Time{0} : slot->next_due;
}

memory::SentSigns sent_signs()
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(mine);
    return slot == nullptr ? memory::SentSigns{} : slot->signs;
}

void note_sent_signs(const memory::SentSigns &signs)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::DatabaseSlot *slot = slot_of(mine); slot != nullptr)
        slot->signs = signs;
}

bool watches_prefetched()
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(mine);
    return slot != nullptr && slot->watches_prefetched;
}

void stop_watching_prefetched() noexcept
{
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::DatabaseSlot *slot = slot_of(mine); slot != nullptr)
        slot->watches_prefetched = false;
}

bool leave_scheduler(pg::Time stay_until)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(mine);
    if (slot == nullptr)
        return true;
    if (slot->next_due < stay_until || slot->watches_prefetched || slot->dispatch_asked ||
        slot->waits_asked || slot->shares_asked || slot->shares_changed)
        return false;
    slot->scheduler = memory::SchedulerState::leaving;
    return true;
}

bool leave_to_give_way(pg::Time come_back)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(mine);
    if (slot == nullptr || !std::exchange(slot->must_give_way, false))
        return false;
    slot->scheduler = memory::SchedulerState::leaving;
    slot->next_due = come_back;
    return true;
}

bool leave_closed_database()
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(mine);
    if (slot == nullptr)
        return true;
    if (slot->changed)
        return false;
    slot->scheduler = memory::SchedulerState::leaving;
    slot->closed = true;
    slot->next_due = pg::infinity;
    return true;
}

}  // namespace hipq::databases
