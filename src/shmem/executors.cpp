// Executors in the registry.
#include "executors.hpp"

#include "pg/clock.hpp"
#include "settings.hpp"
#include "shmem/alerts.hpp"
#include "shmem/databases.hpp"
#include "shmem/flight_recorder.hpp"
#include "shmem/stand_aside.hpp"
#include "shmem/start_failures.hpp"
#include "shmem/watch.hpp"

namespace hipq::shmem {

namespace {

// A queue owner that waits longer for an executor is worth an alert.
constexpr std::int64_t longest_patience = 10'000'000;  // us

constinit ExecutorTicket mine{-1, 0, InvalidOid, InvalidOid};

std::span<ExecutorSlot> slots()
{
    return {registry()->executors, static_cast<std::size_t>(registry()->executor_count)};
}

bool is_alive(const ExecutorSlot &slot)
{
    return slot.state != ExecutorState::free && slot.state != ExecutorState::orphaned;
}

bool belongs_to(const ExecutorSlot &slot, Oid database, Oid role)
{
    return is_alive(slot) && slot.database == database && slot.role == role;
}

// The slot a ticket names, if it is still that one's. Needs the lock.
ExecutorSlot *slot_of(const ExecutorTicket &ticket)
{
    if (ticket.slot < 0)
        return nullptr;
    ExecutorSlot &slot = registry()->executors[ticket.slot];
    return slot.generation == ticket.generation ? &slot : nullptr;
}

int index_of(const ExecutorSlot &slot)
{
    return static_cast<int>(&slot - registry()->executors);
}

// Takes jobs out of an executor's hand: those that do not run, or all. Needs the lock. Returns whether there were any.
bool empty_hand(const ExecutorSlot &slot, bool running_too)
{
    const auto goes = [&](const core::JobEntry &job) { return running_too || job.phase != core::JobPhase::running; };
    return jobs_in_hand().erase_if(index_of(slot), goes) > 0;
}

void free_slot(ExecutorSlot &slot)
{
    empty_hand(slot, true);
    forget_cancellations(index_of(slot));
    const std::uint32_t generation = slot.generation + 1;
    slot = ExecutorSlot{};
    slot.generation = generation;
    slot.process = no_process;
}

// hipq.max_executors may have been lowered. Each counts those before it, so that as many leave as are too many. Needs the lock.
bool is_one_too_many(const ExecutorSlot &slot)
{
    const ExecutorSlot *const first = slots().data();
    const auto before = std::count_if(first, &slot, is_alive);
    return before >= settings::max_executors;
}

// Idle executors of other queue owners make room. Needs the lock. Returns whether one was asked.
bool ask_idle_stranger_to_leave(Oid database, Oid role)
{
    for (ExecutorSlot &slot : slots()) {
        if (slot.state != ExecutorState::idle || belongs_to(slot, database, role))
            continue;
        slot.asked_to_leave = true;
        wake_process(slot.process);
        return true;
    }
    return false;
}

// Marks a free slot as requested. Needs the lock. False: no slot, no room under hipq.max_executors, or none may be started now.
bool request_slot(Oid database, Oid role, pg::Time now)
{
    if (!may_start(database, role, now))
        return false;
    int alive = 0;
    ExecutorSlot *candidate = nullptr;
    for (ExecutorSlot &slot : slots()) {
        if (is_alive(slot))
            ++alive;
        else if (slot.state == ExecutorState::free && candidate == nullptr)
            candidate = &slot;
    }
    if (candidate == nullptr || alive >= settings::max_executors)
        return false;
    candidate->state = ExecutorState::requested;
    candidate->state_since = now;
    candidate->woken = true;
    candidate->database = database;
    candidate->role = role;
    return true;
}

extern "C" void hipq_executor_exits(int, Datum)
{
    const pg::Time now = pg::now();
    const pg::Time end{::GetCurrentTimestamp()};
    Oid database = InvalidOid;
    pg::Time due = pg::Time{0};
    bool leaves_job = false;
    bool was_needed = false;
    bool somebody_waits = false;
    abandon_running(mine.slot);
    {
        const Lock lock(LW_EXCLUSIVE);
        ExecutorSlot *slot = slot_of(mine);
        mine.slot = -1;
        if (slot == nullptr)
            return;
        database = slot->database;
        leaves_job = slot->job.id != 0;
        const bool leaves_hand = empty_hand(*slot, !leaves_job);
        was_needed = leaves_job || leaves_hand || slot->woken;
        if (slot->state == ExecutorState::starting && !stands_aside(database))  // it could not connect
            due = note_failed_start(database, slot->role, now);
        somebody_waits = registry()->executor_wanted != pg::infinity;
        registry()->executor_wanted = pg::infinity;  // whoever still waits says so again
        if (leaves_job) {
            slot->state = ExecutorState::orphaned;
            slot->process = no_process;
            slot->watch.missed = slot->watch.is_on && end >= slot->watch.deadline;
        } else {
            free_slot(*slot);
        }
        wake_process(registry()->launcher);
    }
    if (was_needed)
        work_due(database, due);
    if (somebody_waits)
        everybody_looks();
    announce_departure();
}

}  // namespace

std::span<ExecutorSlot> executor_slots()
{
    return slots();
}

void free_executor_slot(ExecutorSlot &slot)
{
    free_slot(slot);
}

void want_executors(Oid database, Oid role, int wanted, pg::Time now)
{
    const Lock lock(LW_EXCLUSIVE);
    int alive = 0;
    int have = 0;  // without those that have a job, which may take long, and those on their way out
    for (ExecutorSlot &slot : slots()) {
        if (!belongs_to(slot, database, role))
            continue;
        ++alive;
        if (slot.state != ExecutorState::running && !slot.asked_to_leave)
            ++have;
        if (slot.state == ExecutorState::idle && wanted > 0) {
            slot.woken = true;
            wake_process(slot.process);
        }
    }
    bool requested = false;
    for (; have < wanted; ++have) {
        if (!request_slot(database, role, now))
            break;
        requested = true;
        ++alive;
    }
    if (requested)
        wake_process(registry()->launcher);
    if (alive == 0 && settings::max_executors > 0) {
        registry()->executor_wanted = std::min(registry()->executor_wanted, now);
        if (registry()->executor_wanted + longest_patience < now)
            note_alert(Alert::executor_wanted);
        ask_idle_stranger_to_leave(database, role);
    } else if (requested) {
        registry()->executor_wanted = pg::infinity;
    }
}

RunningJob job_of(const ExecutorSlot &slot, const core::JobEntry &entry) noexcept
{
    RunningJob job = slot.job;  // jobs that run together have all else in common
    job.id = entry.job_id;
    if (job.attempt != 0)
        job.attempt = entry.attempt;
    return job;
}

namespace {

// Needs the lock.
Orphan orphan_of(int index, const ExecutorSlot &slot, const RunningJob &job)
{
    const bool was_watched = slot.watch.job_id == 0 || slot.watch.job_id == job.id;
    const bool is_cancelled = cancellation_of(slot.database, job.id).job_id != 0;
    return {index, slot.generation, job, slot.pid, slot.watch.asks_retry_handler, slot.watch.missed && was_watched, is_cancelled};
}

}  // namespace

std::size_t find_orphans(Oid database, std::span<Orphan> orphans)
{
    std::size_t count = 0;
    const Lock lock(LW_SHARED);
    const core::JobTable table = jobs_in_hand();
    for (int i = 0; i < registry()->executor_count && count < orphans.size(); ++i) {
        const ExecutorSlot &slot = registry()->executors[i];
        if (slot.state != ExecutorState::orphaned || slot.database != database)
            continue;
        std::int32_t entry = table.first_of(i);
        if (entry == core::no_entry)
            orphans[count++] = orphan_of(i, slot, slot.job);
        for (; entry != core::no_entry && count < orphans.size(); entry = table.next_of(entry))
            orphans[count++] = orphan_of(i, slot, job_of(slot, table.at(entry)));
    }
    return count;
}

std::string cancellation_of(const Orphan &orphan)
{
    Cancellation cancellation{};
    {
        const Lock lock(LW_SHARED);
        cancellation = cancellation_of(registry()->executors[orphan.slot].database, orphan.job.id);
    }
    return cancellation.error;
}

void release_orphan(const Orphan &orphan)
{
    const Lock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_hand();
    ExecutorSlot &slot = registry()->executors[orphan.slot];
    if (slot.generation != orphan.generation || slot.state != ExecutorState::orphaned)
        return;
    const std::int32_t entry = table.find(slot.database, orphan.job.id);
    if (entry != core::no_entry && table[entry].holder == orphan.slot)
        table.erase(entry);
    forget_cancellation(slot.database, orphan.job.id);
    if (table.first_of(orphan.slot) == core::no_entry)
        free_slot(slot);
}

int count_executors(Oid database, Oid role)
{
    const Lock lock(LW_SHARED);
    return static_cast<int>(std::count_if(slots().begin(), slots().end(), [&](const ExecutorSlot &slot) {
        return belongs_to(slot, database, role) && slot.state != ExecutorState::requested;
    }));
}

void note_free_slots(bool are_there)
{
    const Lock lock(LW_EXCLUSIVE);
    registry()->no_free_slot = !are_there;
    if (are_there)
        registry()->must_make_room = false;
}

bool has_free_slots()
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
            free_slot(slot);
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
        ExecutorSlot *slot = slot_of(ticket);
        if (slot == nullptr || slot->state != ExecutorState::starting || slot->process != no_process)
            return;
        free_slot(*slot);
    }
    work_due(ticket.database, pg::now() + USECS_PER_SEC);  // somebody counted on it
}

void executor_found_no_slot(const ExecutorTicket &ticket)
{
    const Lock lock(LW_EXCLUSIVE);
    ExecutorSlot *slot = slot_of(ticket);
    if (slot == nullptr || slot->state != ExecutorState::starting || slot->process != no_process)
        return;
    slot->state = ExecutorState::requested;
    ask_scheduler_to_make_room();
}

void forget_starting_executors()
{
    const Lock lock(LW_EXCLUSIVE);
    for (ExecutorSlot &slot : slots())
        if (slot.state == ExecutorState::starting && slot.process == no_process)
            free_slot(slot);
}

bool attach_executor(const ExecutorTicket &ticket)
{
    pg::call([] { ::on_shmem_exit(hipq_executor_exits, Datum{0}); });
    const pg::Time now{::GetCurrentTimestamp()};
    const Lock lock(LW_EXCLUSIVE);
    ExecutorSlot *slot = slot_of(ticket);
    if (slot == nullptr || slot->state != ExecutorState::starting)
        return false;
    if (stands_aside(ticket.database)) {
        free_slot(*slot);
        return false;
    }
    mine = ticket;
    slot->pid = MyProcPid;
    slot->process = MyProc->pgprocno;
    slot->started = now;
    slot->state_since = now;
    return true;
}

int own_executor_slot()
{
    return mine.slot;
}

ExecutorSlot *my_slot()
{
    return slot_of(mine);
}

void announce_jobs(const RunningJob &first, std::span<const Attempt> attempts)
{
    const pg::Time now{::GetCurrentTimestamp()};
    record_running(mine.slot, first, attempts);
    const Lock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_hand();
    ExecutorSlot *slot = slot_of(mine);
    slot->state = ExecutorState::running;
    slot->state_since = now;
    slot->job = first;
    slot->watch = JobWatch{};
    for (const Attempt &attempt : attempts) {
        core::JobEntry running{};
        running.job_id = attempt.id;
        running.database = slot->database;
        running.queue_id = first.queue_id;
        running.holder = mine.slot;
        std::int32_t entry = table.find(slot->database, attempt.id);
        if (entry == core::no_entry)
            entry = table.insert(running);
        if (entry == core::no_entry)
            continue;  // no room: the slot itself tells of the first, and only one runs then
        table[entry].phase = core::JobPhase::running;
        table[entry].attempt = attempt.number;
        table[entry].is_closed = false;
    }
}

void announce_job(const RunningJob &job)
{
    const Attempt attempt{job.id, job.attempt};
    announce_jobs(job, {&attempt, 1});
}

void announce_idle()
{
    const pg::Time now{::GetCurrentTimestamp()};
    clear_running(mine.slot);
    const Lock lock(LW_EXCLUSIVE);
    ExecutorSlot *slot = slot_of(mine);
    std::int64_t ended = 0;
    jobs_in_hand().erase_if(mine.slot, [&](const core::JobEntry &job) {
        ended += job.phase == core::JobPhase::running ? 1 : 0;
        return job.phase != core::JobPhase::reserved;
    });
    if (slot->state == ExecutorState::running && slot->job.attempt != 0)
        slot->jobs_done += ended;
    if (slot->state == ExecutorState::starting)
        note_start(slot->database, slot->role);
    slot->state = ExecutorState::idle;
    slot->woken = true;  // it looks for work next: until then a commit cannot count on it, there may be older jobs
    slot->state_since = now;
    slot->job = RunningJob{};
    slot->watch = JobWatch{};
    forget_cancellations(mine.slot);
}

void begin_leaving()
{
    const Lock lock(LW_EXCLUSIVE);
    slot_of(mine)->asked_to_leave = true;
}

bool should_leave(bool idle, pg::Time now)
{
    const Lock lock(LW_SHARED);
    const ExecutorSlot *slot = slot_of(mine);
    if (slot == nullptr || slot->asked_to_leave || is_one_too_many(*slot))
        return true;
    const bool somebody_waits = registry()->executor_wanted != pg::infinity;
    return somebody_waits && (idle || now >= slot->started + std::int64_t{settings::executor_quantum} * 1000);
}

bool request_executor(Oid database, Oid role, pg::Time now) noexcept
{
    if (!is_loaded() || !settings::enabled)
        return false;
    const Lock lock(LW_EXCLUSIVE);
    if (!is_in_order(database) || stands_aside(database) || !request_slot(database, role, now))
        return false;
    wake_process(registry()->launcher);
    return true;
}

bool wake_idle_executor(Oid database, Oid role) noexcept
{
    if (!is_loaded())
        return false;
    const Lock lock(LW_EXCLUSIVE);
    for (ExecutorSlot &slot : slots()) {
        if (slot.state != ExecutorState::idle || !belongs_to(slot, database, role) || slot.asked_to_leave || slot.woken)
            continue;
        slot.woken = true;
        wake_process(slot.process);
        return true;
    }
    return false;
}

void begin_executor_look()
{
    const Lock lock(LW_EXCLUSIVE);
    slot_of(mine)->woken = false;
}

bool was_woken()
{
    const Lock lock(LW_SHARED);
    return slot_of(mine)->woken;
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

}  // namespace hipq::shmem
