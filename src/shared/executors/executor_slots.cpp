// Keeps the slots of executors: requests them, hands them out, and wakes idle executors.
#include "shared/executors/executor_slots.hpp"

#include "pg/clock.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/databases/launcher_slots.hpp"
#include "shared/databases/stand_aside.hpp"
#include "shared/executors/executor_shares.hpp"
#include "shared/executors/reserve.hpp"
#include "shared/executors/start_failures.hpp"
#include "shared/executors/stop_control.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::executors {

namespace {

// If a queue owner waits longer than this for an executor, an alert is raised.
constexpr std::int64_t longest_patience = 10'000'000;  // us

bool is_alive(const ExecutorSlot &slot)
{
    return slot.state != ExecutorState::free && slot.state != ExecutorState::orphaned;
}

bool belongs_to(const ExecutorSlot &slot, Oid database, Oid role)
{
    return is_alive(slot) && slot.database == database && slot.role == role;
}

// Asks one idle executor of another queue owner to leave. Needs the lock.
void ask_idle_stranger_to_leave(Oid database, Oid role)
{
    for (ExecutorSlot &slot : executor_slots()) {
        if (slot.state != ExecutorState::idle || belongs_to(slot, database, role))
            continue;
        slot.asked_to_leave = true;
        memory::wake_process(slot.process);
        return;
    }
}

// Marks a free slot as requested. Needs the lock. Returns false if there is no free slot, no room
// under hipq.max_executors, or no executor of this owner may be started now.
bool request_slot(Oid database, Oid role, pg::Time now)
{
    if (!may_start(database, role, now) || !has_place(places(), database, role))
        return false;
    const auto candidate =
        std::find_if(executor_slots().begin(), executor_slots().end(),
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

ExecutorSlot *executor_slot_of(const ExecutorTicket &ticket)
{
    if (ticket.slot < 0)
        return nullptr;
    ExecutorSlot &slot = executor_table().slots[ticket.slot];
    return slot.generation == ticket.generation ? &slot : nullptr;
}

memory::RunningJob job_of(const ExecutorSlot &slot, const core::JobEntry &entry) noexcept
{
    memory::RunningJob job = slot.job;  // jobs that run together differ only in id and attempt
    job.id = entry.job_id;
    if (job.attempt != 0)
        job.attempt = entry.attempt;
    return job;
}

bool drop_prefetched(const ExecutorSlot &slot, bool running_too)
{
    return lanes::jobs_in_flight().erase_if(index_of(slot), [&](const core::JobEntry &job) {
        const bool goes = running_too || job.phase != core::JobPhase::running;
        if (goes)
            lanes::return_to_lane(job);
        return goes;
    }) > 0;
}

void clear_executor_slot(ExecutorSlot &slot)
{
    drop_prefetched(slot, true);
    const std::uint32_t generation = slot.generation + 1;
    slot = ExecutorSlot{};
    slot.generation = generation;
    slot.process = memory::no_process;
}

void free_executor_slot(ExecutorSlot &slot)
{
    const lanes::InFlightLock lock(LW_EXCLUSIVE);
    clear_executor_slot(slot);
}

bool is_one_too_many(const ExecutorSlot &slot)
{
    const ExecutorSlot *const first = executor_slots().data();
    const auto before = std::count_if(first, &slot, is_alive);
    return before >= settings::max_executors;
}

int count_alive(Oid database, Oid role)
{
    return static_cast<int>(
        std::count_if(executor_slots().begin(), executor_slots().end(),
                      [&](const ExecutorSlot &slot) { return belongs_to(slot, database, role); }));
}

bool somebody_leaves()
{
    return std::any_of(
        executor_slots().begin(), executor_slots().end(), [](const ExecutorSlot &slot) {
            return is_alive(slot) && slot.asked_to_leave && slot.state != ExecutorState::running;
        });
}

void give_out_executors(pg::Time now)
{
    if (!settings::enabled)
        return;
    bool any = false;
    for (OwnerShare *owner = next_to_serve();
         owner != nullptr && request_slot(owner->database, owner->role, now);
         owner = next_to_serve()) {
        served(*owner);
        any = true;
    }
    if (any)
        memory::wake_process(memory::registry()->launcher);
    if (const OwnerShare *owner = first_without_executor();
        owner != nullptr && settings::max_executors > 0)
        ask_idle_stranger_to_leave(owner->database, owner->role);
}

void want_executors(Oid database, Oid role, int wanted, std::int64_t weight, pg::Time now)
{
    const ExecutorLock lock(LW_EXCLUSIVE);
    if (wanted == 0) {
        want_nothing(database, role);
        return;
    }
    int have = 0;  // executors that neither run a job, which may take long, nor are about to leave
    int to_wake = wanted;
    for (ExecutorSlot &slot : executor_slots()) {
        if (!belongs_to(slot, database, role))
            continue;
        if (slot.state != ExecutorState::running && !slot.asked_to_leave)
            ++have;
        if (slot.state == ExecutorState::idle && !slot.asked_to_leave && to_wake-- > 0) {
            slot.woken = true;
            memory::wake_process(slot.process);
        }
    }
    const pg::Time since = want_more(database, role, std::max(0, wanted - have), weight);
    give_out_executors(now);
    const bool is_patient =
        since == pg::infinity || pg::Time{::GetCurrentTimestamp()} <= since + longest_patience;
    if (!is_patient && count_alive(database, role) == 0)
        memory::raise_alert(memory::Alert::executor_wanted, database);
}

int count_executors(Oid database, Oid role)
{
    const ExecutorLock lock(LW_SHARED);
    return static_cast<int>(std::count_if(
        executor_slots().begin(), executor_slots().end(), [&](const ExecutorSlot &slot) {
            return belongs_to(slot, database, role) && slot.state != ExecutorState::requested;
        }));
}

void note_free_worker_slots(bool are_there)
{
    const ExecutorLock lock(LW_EXCLUSIVE);
    executor_table().no_free_slot = !are_there;
    if (are_there)
        databases::call_off_giving_way();
}

bool has_free_worker_slots()
{
    const ExecutorLock lock(LW_SHARED);
    return !executor_table().no_free_slot;
}

std::size_t take_requested_executors(std::span<ExecutorTicket> tickets)
{
    std::size_t count = 0;
    const ExecutorLock lock(LW_EXCLUSIVE);
    for (int i = 0; i < memory::executor_places() && count < tickets.size(); ++i) {
        ExecutorSlot &slot = executor_table().slots[i];
        if (slot.state != ExecutorState::requested || databases::stands_aside(slot.database))
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
        const ExecutorLock lock(LW_EXCLUSIVE);
        ExecutorSlot *slot = executor_slot_of(ticket);
        if (slot == nullptr || slot->state != ExecutorState::starting ||
            slot->process != memory::no_process)
            return;
        free_executor_slot(*slot);
        give_out_executors(pg::now());
    }
    databases::work_due(ticket.database, pg::now() + USECS_PER_SEC);  // the scheduler counted on it
}

void executor_found_no_slot(const ExecutorTicket &ticket)
{
    const ExecutorLock lock(LW_EXCLUSIVE);
    ExecutorSlot *slot = executor_slot_of(ticket);
    if (slot == nullptr || slot->state != ExecutorState::starting ||
        slot->process != memory::no_process)
        return;
    slot->state = ExecutorState::requested;
    databases::ask_scheduler_to_give_way();
}

void forget_starting_executors()
{
    const ExecutorLock lock(LW_EXCLUSIVE);
    for (ExecutorSlot &slot : executor_slots())
        if (slot.state == ExecutorState::starting && slot.process == memory::no_process)
            free_executor_slot(slot);
}

bool request_executor(Oid database, Oid role, pg::Time now) noexcept
{
    if (!memory::is_loaded() || !settings::enabled)
        return false;
    const ExecutorLock lock(LW_EXCLUSIVE);
    if (!databases::is_in_order(database) || databases::stands_aside(database) ||
        next_to_serve() != nullptr || !request_slot(database, role, now))
        return false;
    memory::wake_process(memory::registry()->launcher);
    return true;
}

bool wake_idle_executor(Oid database, Oid role) noexcept
{
    if (!memory::is_loaded())
        return false;
    const ExecutorLock lock(LW_EXCLUSIVE);
    for (ExecutorSlot &slot : executor_slots()) {
        if (slot.state != ExecutorState::idle || !belongs_to(slot, database, role) ||
            slot.asked_to_leave || slot.woken)
            continue;
        slot.woken = true;
        memory::wake_process(slot.process);
        return true;
    }
    return false;
}

std::vector<ExecutorSlot> list_executors()
{
    std::vector<ExecutorSlot> result;
    if (!memory::is_loaded())
        return result;
    result.resize(
        static_cast<std::size_t>(memory::executor_places()));  // allocated before the lock is taken
    {
        const ExecutorLock lock(LW_SHARED);
        const lanes::InFlightLock jobs_lock(LW_SHARED);
        std::memcpy(static_cast<void *>(result.data()), executor_table().slots,
                    result.size() * sizeof(ExecutorSlot));
    }
    std::erase_if(result,
                  [](const ExecutorSlot &slot) { return slot.state == ExecutorState::free; });
    return result;
}

namespace {

// Executors that are about to start find that their tickets are no longer valid.
void forget_executors(Oid database) noexcept
{
    const ExecutorLock lock(LW_EXCLUSIVE);
    forget_failed_starts(database);
    forget_shares(database);
    for (ExecutorSlot &slot : executor_slots())
        if (slot.database == database &&
            (slot.state == ExecutorState::requested || slot.state == ExecutorState::orphaned))
            free_executor_slot(slot);
}

}  // namespace

constinit const memory::Part executors_part{request_executors, set_up_executors, nullptr,
                                            forget_executors};

bool is_executor(Oid database, int process) noexcept
{
    const ExecutorLock lock(LW_SHARED);
    return std::any_of(executor_slots().begin(), executor_slots().end(),
                       [&](const ExecutorSlot &slot) {
                           return slot.process == process && slot.database == database;
                       });
}

}  // namespace hipq::executors
