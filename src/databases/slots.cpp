// Keeps a slot for each database: its scheduler, when somebody has to look, what was asked for.
#include "slots.hpp"

#include "databases/dirty_queues.hpp"
#include "databases/stand_aside.hpp"
#include "memory/memory.hpp"
#include "pg/clock.hpp"
#include "settings.hpp"

extern "C" {
#include "access/twophase.h"
}

namespace hipq::databases {

namespace {

constexpr std::int64_t first_delay = 1'000'000;  // us
constexpr std::int64_t longest_delay = 60'000'000;

constinit SchedulerTicket mine{-1, 0, InvalidOid};

// Of a closed database nothing is known that the launcher would not find out again.
bool is_free(const memory::DatabaseSlot &slot)
{
    return slot.database == InvalidOid ||
           (slot.closed && slot.scheduler == memory::SchedulerState::none);
}

std::span<memory::DatabaseSlot> slots_in_use()
{
    return {memory::registry()->databases, static_cast<std::size_t>(settings::max_databases)};
}

// When there is no room: the slot of the database that can wait longest, whose time is forgotten.
// Its turn comes again when the launcher looks at all databases. Null when all have a scheduler or
// are due.
memory::DatabaseSlot *slot_to_give_up(pg::Time now)
{
    memory::DatabaseSlot *latest = nullptr;
    for (memory::DatabaseSlot &slot : slots_in_use())
        if (slot.scheduler == memory::SchedulerState::none && slot.next_due > now &&
            (latest == nullptr || slot.next_due > latest->next_due))
            latest = &slot;
    memory::registry()->look_at_all = true;
    memory::raise_alert(memory::Alert::databases_full);
    return latest;
}

// The slot of a database, a new one if it has none; null when the array is full. Needs the lock.
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
                                          .next_due = pg::infinity,
                                          .not_before = pg::Time{0},
                                          .failures = 0,
                                          .closed = false,
                                          .changed = false,
                                          .queue_owners = memory::owners_not_known,
                                          .looked = false,
                                          .restores = 1,
                                          .aims = 1,
                                          .prepares = 0,
                                          .lane_losses = 1,
                                          .lane_searches = 0,
                                          .crowded = {},
                                          .recovered = 0};
    return free_slot;
}

// The slot a ticket names, if it is still that one's. Needs the lock.
memory::DatabaseSlot *slot_of(const SchedulerTicket &ticket)
{
    if (ticket.slot < 0)
        return nullptr;
    memory::DatabaseSlot &slot = memory::registry()->databases[ticket.slot];
    return slot.generation == ticket.generation && slot.database == ticket.database ? &slot
                                                                                    : nullptr;
}

// Doubles with each failure in a row.
void put_off(memory::DatabaseSlot &slot)
{
    const std::int64_t delay = std::min(longest_delay, first_delay << std::min(slot.failures, 6));
    ++slot.failures;
    slot.not_before = pg::now() + delay;
}

// Later than any delay: the clock was set back.
bool is_put_off(const memory::DatabaseSlot &slot, pg::Time now)
{
    return slot.not_before > now && slot.not_before <= now + longest_delay;
}

// Whether the launcher may start a scheduler for this slot, once it is due. Needs the lock.
bool can_start(const memory::DatabaseSlot &slot)
{
    return slot.database != InvalidOid && slot.scheduler == memory::SchedulerState::none &&
           !slot.closed && !has_valid_mark(slot.database);
}

// Of those that can start and are due the one that waits longest; null when there is none. Needs
// the lock.
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

// Frees a slot that nothing is known about any more. Needs the lock.
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
void detach_scheduler(int exit_code, const memory::LeftByScheduler &left)
{
    memory::DatabaseSlot *slot = slot_of(mine);
    mine.slot = -1;
    memory::set_own_holder(-1);
    if (slot == nullptr)
        return;
    slot->scheduler = memory::SchedulerState::none;
    slot->process = memory::no_process;
    slot->must_give_way = false;
    if (left.must_recover)
        slot->recovered = 0;
    if (slot->dispatch_asked || left.must_look)
        slot->next_due = pg::Time{0};
    if (exit_code == 0) {
        slot->failures = 0;
        release_if_unused(*slot);
    } else {  // it did not leave by itself: somebody has to look again
        slot->next_due = pg::Time{0};
        if (!has_valid_mark(slot->database))
            put_off(*slot);
    }
    memory::wake_process(memory::registry()->launcher);
}

extern "C" void hipq_scheduler_exits(int code, Datum)
{
    memory::LeftByScheduler left{};
    if (has_own_slot())
        left = memory::tell_of_scheduler_exit(memory::own_holder());
    {
        const memory::Lock lock(LW_EXCLUSIVE);
        detach_scheduler(code, left);
    }
    announce_departure();
}

extern "C" void hipq_launcher_exits(int, Datum)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::registry()->launcher = memory::no_process;
}

// The slot of a database; null when there is no room, which the launcher hears of. Needs the lock.
memory::DatabaseSlot *slot_or_overflow(Oid database)
{
    memory::DatabaseSlot *slot = slot_for(database);
    if (slot == nullptr && memory::registry()->launcher != MyProc->pgprocno)
        memory::wake_process(memory::registry()->launcher);
    return slot;
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

void ask_for_dispatch(Oid database) noexcept
{
    if (!memory::is_loaded())
        return;
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_or_overflow(database);
    if (slot == nullptr || slot->closed || slot->dispatch_asked)
        return;
    slot->dispatch_asked = true;
    if (slot->scheduler != memory::SchedulerState::running)
        slot->next_due = pg::Time{0};
    wake_whoever_looks_at(*slot);
}

bool was_asked_for_dispatch()
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::DatabaseSlot *slot = slot_of(mine);
    return slot != nullptr && std::exchange(slot->dispatch_asked, false);
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

void jobs_aimed(Oid database) noexcept
{
    if (!memory::is_loaded())
        return;
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::DatabaseSlot *slot = slot_or_overflow(database); slot != nullptr)
        ++slot->aims;
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
    std::vector<Prepares> prepares(memory::max_databases);  // before the lock: allocation
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

bool make_known(Oid database)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    const bool is_known =
        std::any_of(slots_in_use().begin(), slots_in_use().end(),
                    [&](const memory::DatabaseSlot &slot) { return slot.database == database; });
    memory::DatabaseSlot *slot = is_known ? nullptr : slot_or_overflow(database);
    if (slot != nullptr) {
        slot->changed = true;
        slot->next_due = pg::Time{0};
    }
    return is_known || slot != nullptr;
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

void everybody_looks() noexcept
{
    if (!memory::is_loaded())
        return;
    const memory::Lock lock(LW_EXCLUSIVE);
    for (memory::DatabaseSlot &slot : memory::registry()->databases) {
        if (slot.scheduler != memory::SchedulerState::running)
            continue;
        note_all_dirty(slot.database);
        slot.next_due = pg::Time{0};
        memory::wake_process(slot.process);
    }
}

void attach_launcher()
{
    pg::call([] { ::on_shmem_exit(hipq_launcher_exits, Datum{0}); });
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::registry()->launcher = MyProc->pgprocno;
    // A launcher before this one may have died between taking a slot and starting its scheduler.
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

bool must_look_at_all_databases()
{
    const memory::Lock lock(LW_SHARED);
    return memory::registry()->look_at_all;
}

void begin_look_at_all_databases()
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::registry()->look_at_all = false;
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
    slot->process = MyProc->pgprocno;
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

unsigned count_aims()
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(mine);
    return slot == nullptr ? 0 : slot->aims;
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

pg::Time next_look()
{
    const memory::Lock lock(LW_SHARED);
    const memory::DatabaseSlot *slot = slot_of(mine);
    if (slot == nullptr)
        return pg::infinity;
    return slot->must_give_way ? pg::Time{0} : slot->next_due;
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
    if (slot->next_due < stay_until || slot->watches_prefetched || slot->dispatch_asked)
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

namespace {

// Whoever is about to start there finds that the slot is not his any more.
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
