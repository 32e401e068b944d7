// The slots, and who may have one.
#include "executors.hpp"

#include "pg/clock.hpp"
#include "settings.hpp"
#include "shmem/alerts.hpp"
#include "shmem/databases.hpp"
#include "shmem/hands.hpp"
#include "shmem/reserve.hpp"
#include "shmem/shares.hpp"
#include "shmem/stand_aside.hpp"
#include "shmem/start_failures.hpp"
#include "shmem/watch.hpp"

namespace hipq::shmem {

namespace {

// A queue owner that waits longer for an executor is worth an alert.
constexpr std::int64_t longest_patience = 10'000'000;  // us

bool is_alive(const ExecutorSlot &slot)
{
    return slot.state != ExecutorState::free && slot.state != ExecutorState::orphaned;
}

bool belongs_to(const ExecutorSlot &slot, Oid database, Oid role)
{
    return is_alive(slot) && slot.database == database && slot.role == role;
}

// Idle executors of other queue owners make room. Needs the lock.
void ask_idle_stranger_to_leave(Oid database, Oid role)
{
    for (ExecutorSlot &slot : executor_slots()) {
        if (slot.state != ExecutorState::idle || belongs_to(slot, database, role))
            continue;
        slot.asked_to_leave = true;
        wake_process(slot.process);
        return;
    }
}

// Marks a free slot as requested. Needs the lock. False: no slot, no room under hipq.max_executors, or none may be started now.
bool request_slot(Oid database, Oid role, pg::Time now)
{
    if (!may_start(database, role, now) || !has_place(places(), database, role))
        return false;
    const auto candidate = std::find_if(executor_slots().begin(), executor_slots().end(),
                                        [](const ExecutorSlot &slot) { return slot.state == ExecutorState::free; });
    if (candidate == executor_slots().end())
        return false;
    candidate->state = ExecutorState::requested;
    candidate->state_since = now;
    candidate->woken = true;
    candidate->database = database;
    candidate->role = role;
    return true;
}

}  // namespace

std::span<ExecutorSlot> executor_slots()
{
    return {registry()->executors, static_cast<std::size_t>(registry()->executor_count)};
}

int index_of(const ExecutorSlot &slot)
{
    return static_cast<int>(&slot - registry()->executors);
}

ExecutorSlot *executor_slot_of(const ExecutorTicket &ticket)
{
    if (ticket.slot < 0)
        return nullptr;
    ExecutorSlot &slot = registry()->executors[ticket.slot];
    return slot.generation == ticket.generation ? &slot : nullptr;
}

RunningJob job_of(const ExecutorSlot &slot, const core::JobEntry &entry) noexcept
{
    RunningJob job = slot.job;  // jobs that run together have all else in common
    job.id = entry.job_id;
    if (job.attempt != 0)
        job.attempt = entry.attempt;
    return job;
}

bool empty_hand(const ExecutorSlot &slot, bool running_too)
{
    return jobs_in_hand().erase_if(index_of(slot), [&](const core::JobEntry &job) {
        const bool goes = running_too || job.phase != core::JobPhase::running;
        if (goes)
            return_to_line(job);
        return goes;
    }) > 0;
}

void free_executor_slot(ExecutorSlot &slot)
{
    empty_hand(slot, true);
    const std::uint32_t generation = slot.generation + 1;
    slot = ExecutorSlot{};
    slot.generation = generation;
    slot.process = no_process;
}

bool is_one_too_many(const ExecutorSlot &slot)
{
    const ExecutorSlot *const first = executor_slots().data();
    const auto before = std::count_if(first, &slot, is_alive);
    return before >= settings::max_executors;
}

int count_alive(Oid database, Oid role)
{
    return static_cast<int>(std::count_if(executor_slots().begin(), executor_slots().end(),
                                          [&](const ExecutorSlot &slot) { return belongs_to(slot, database, role); }));
}

bool somebody_leaves()
{
    return std::any_of(executor_slots().begin(), executor_slots().end(), [](const ExecutorSlot &slot) {
        return is_alive(slot) && slot.asked_to_leave && slot.state != ExecutorState::running;
    });
}

void give_out_executors(pg::Time now)
{
    if (!settings::enabled)
        return;
    bool any = false;
    for (OwnerShare *owner = next_to_serve(); owner != nullptr && request_slot(owner->database, owner->role, now);
         owner = next_to_serve()) {
        served(*owner);
        any = true;
    }
    if (any)
        wake_process(registry()->launcher);
    if (const OwnerShare *owner = first_without_executor(); owner != nullptr && settings::max_executors > 0)
        ask_idle_stranger_to_leave(owner->database, owner->role);
}

void want_executors(Oid database, Oid role, int wanted, std::int64_t weight, pg::Time now)
{
    const Lock lock(LW_EXCLUSIVE);
    if (wanted == 0) {
        want_nothing(database, role);
        return;
    }
    int have = 0;  // without those that have a job, which may take long, and those on their way out
    for (ExecutorSlot &slot : executor_slots()) {
        if (!belongs_to(slot, database, role))
            continue;
        if (slot.state != ExecutorState::running && !slot.asked_to_leave)
            ++have;
        if (slot.state == ExecutorState::idle) {
            slot.woken = true;
            wake_process(slot.process);
        }
    }
    const pg::Time since = want_more(database, role, std::max(0, wanted - have), weight);
    give_out_executors(now);
    const bool is_patient = since == pg::infinity || pg::Time{::GetCurrentTimestamp()} <= since + longest_patience;
    if (!is_patient && count_alive(database, role) == 0)
        note_alert(Alert::executor_wanted);
}

int count_executors(Oid database, Oid role)
{
    const Lock lock(LW_SHARED);
    return static_cast<int>(std::count_if(executor_slots().begin(), executor_slots().end(), [&](const ExecutorSlot &slot) {
        return belongs_to(slot, database, role) && slot.state != ExecutorState::requested;
    }));
}

void note_free_worker_slots(bool are_there)
{
    const Lock lock(LW_EXCLUSIVE);
    registry()->no_free_slot = !are_there;
    if (are_there)
        need_no_room();
}

bool has_free_worker_slots()
{
    const Lock lock(LW_SHARED);
    return !registry()->no_free_slot;
}

std::size_t take_requested_executors(std::span<ExecutorTicket> tickets)
{
    std::size_t count = 0;
    const Lock lock(LW_EXCLUSIVE);
    for (int i = 0; i < registry()->executor_count && count < tickets.size(); ++i) {
        ExecutorSlot &slot = registry()->executors[i];
        if (slot.state != ExecutorState::requested || stands_aside(slot.database))
            continue;
        if (is_one_too_many(slot)) {
            free_executor_slot(slot);
            continue;
        }
        slot.state = ExecutorState::starting;
        ++slot.generation;
        tickets[count++] = ExecutorTicket{i, slot.generation, slot.database, slot.role};
    }
    return count;
}

void executor_not_started(const ExecutorTicket &ticket)
{
    {
        const Lock lock(LW_EXCLUSIVE);
        ExecutorSlot *slot = executor_slot_of(ticket);
        if (slot == nullptr || slot->state != ExecutorState::starting || slot->process != no_process)
            return;
        free_executor_slot(*slot);
        give_out_executors(pg::now());
    }
    work_due(ticket.database, pg::now() + USECS_PER_SEC);  // somebody counted on it
}

void executor_found_no_slot(const ExecutorTicket &ticket)
{
    const Lock lock(LW_EXCLUSIVE);
    ExecutorSlot *slot = executor_slot_of(ticket);
    if (slot == nullptr || slot->state != ExecutorState::starting || slot->process != no_process)
        return;
    slot->state = ExecutorState::requested;
    ask_scheduler_to_make_room();
}

void forget_starting_executors()
{
    const Lock lock(LW_EXCLUSIVE);
    for (ExecutorSlot &slot : executor_slots())
        if (slot.state == ExecutorState::starting && slot.process == no_process)
            free_executor_slot(slot);
}

bool request_executor(Oid database, Oid role, pg::Time now) noexcept
{
    if (!is_loaded() || !settings::enabled)
        return false;
    const Lock lock(LW_EXCLUSIVE);
    if (!is_in_order(database) || stands_aside(database) || next_to_serve() != nullptr || !request_slot(database, role, now))
        return false;
    wake_process(registry()->launcher);
    return true;
}

bool wake_idle_executor(Oid database, Oid role) noexcept
{
    if (!is_loaded())
        return false;
    const Lock lock(LW_EXCLUSIVE);
    for (ExecutorSlot &slot : executor_slots()) {
        if (slot.state != ExecutorState::idle || !belongs_to(slot, database, role) || slot.asked_to_leave || slot.woken)
            continue;
        slot.woken = true;
        wake_process(slot.process);
        return true;
    }
    return false;
}

std::vector<ExecutorSlot> list_executors()
{
    std::vector<ExecutorSlot> result;
    if (!is_loaded())
        return result;
    result.resize(static_cast<std::size_t>(registry()->executor_count));  // before the lock: allocation
    {
        const Lock lock(LW_SHARED);
        std::memcpy(static_cast<void *>(result.data()), registry()->executors, result.size() * sizeof(ExecutorSlot));
    }
    std::erase_if(result, [](const ExecutorSlot &slot) { return slot.state == ExecutorState::free; });
    return result;
}

namespace {

// Those who are about to start find that the slot is not theirs any more.
void forget_executors(Oid database) noexcept
{
    forget_failed_starts(database);
    forget_shares(database);
    for (ExecutorSlot &slot : executor_slots())
        if (slot.database == database && (slot.state == ExecutorState::requested || slot.state == ExecutorState::orphaned))
            free_executor_slot(slot);
}

}  // namespace

constinit const Part executors_part{nullptr, nullptr, nullptr, forget_executors};

}  // namespace hipq::shmem
