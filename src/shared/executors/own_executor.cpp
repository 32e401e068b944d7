// Keeps the slot of this process as an executor: what it runs, and what it leaves at exit.
#include "shared/executors/own_executor.hpp"

#include "core/lanes/job_table.hpp"
#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/databases/stand_aside.hpp"
#include "shared/executors/executor_shares.hpp"
#include "shared/executors/freed_capacity.hpp"
#include "shared/executors/reserve.hpp"
#include "shared/executors/start_failures.hpp"
#include "shared/executors/stop_control.hpp"
#include "shared/flight/flight_recorder.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/own_holder.hpp"
#include "shared/memory/registry.hpp"
#include "shared/memory/shared_struct.hpp"

namespace hipq::executors {

namespace {

constinit ExecutorTicket mine{-1, 0, InvalidOid, InvalidOid};
// The jobs in flight that are no longer only reserved, so that their release need not walk through
// the others. On the heap, so that no destructor runs at exit.
constinit std::vector<std::int64_t> *begun = nullptr;

// Handles what this process leaves at exit: if it leaves a job whose end is unknown, the slot
// becomes orphaned, otherwise it becomes free. Returns whether another process must look for the
// jobs that it gave back. Needs the lock.
bool leave_jobs(ExecutorSlot &slot, pg::Time end)
{
    const lanes::InFlightLock lock(LW_EXCLUSIVE);
    const bool leaves_job = slot.job.id != 0;
    const bool leaves_flight = drop_prefetched(slot, !leaves_job);
    const bool was_reading = lanes::cancel_readings(index_of(slot));
    if (leaves_job) {
        slot.state = ExecutorState::orphaned;
        slot.process = memory::no_process;
        slot.stop_control.missed = slot.stop_control.is_on && end >= slot.stop_control.deadline;
    } else {
        clear_executor_slot(slot);
    }
    return leaves_job || leaves_flight || was_reading;
}

extern "C" void hipq_executor_exits(int, Datum)
{
    const pg::Time now = pg::now();
    const pg::Time end{::GetCurrentTimestamp()};
    Oid database = InvalidOid;
    pg::Time due = pg::Time{0};
    bool was_needed = false;
    flight::abandon_running(mine.slot);
    {
        const ExecutorLock lock(LW_EXCLUSIVE);
        ExecutorSlot *slot = own_executor();
        mine.slot = -1;
        memory::set_own_holder(-1);
        if (slot == nullptr)
            return;
        database = slot->database;
        if (slot->state == ExecutorState::starting &&
            !databases::stands_aside(database))  // it could not connect
            due = note_failed_start(database, slot->role, now);
        end_turn(*slot);
        was_needed = slot->woken;
        was_needed = leave_jobs(*slot, end) || was_needed;
        give_out_executors(now);
        memory::wake_process(memory::registry()->launcher);
    }
    if (was_needed)
        databases::work_due(database, due);
    databases::announce_departure();
}

// Whether this executor must leave for the sake of others. Needs the lock.
bool has_to_leave(const ExecutorSlot &slot, bool idle, pg::Time now)
{
    return (somebody_waits() && gives_way(slot, idle, now)) || takes_kept_place(slot);
}

// Executors that are in the middle of their work leave one after another, so that no more of them
// leave than necessary.
bool give_way(bool idle, pg::Time now)
{
    const ExecutorLock lock(LW_EXCLUSIVE);
    ExecutorSlot *slot = own_executor();
    if (!has_to_leave(*slot, idle, now) || (!idle && somebody_leaves()))
        return false;
    slot->asked_to_leave = true;
    return true;
}

// Executors that run very short jobs do not check after each of them whether another owner needs
// their place. They see requests to themselves at once.
bool is_time_to_ask(pg::Time now)
{
    constexpr std::int64_t interval = 1'000;  // us
    static constinit pg::Time last{0};
    if (last <= now && now < last + interval)
        return false;
    last = now;
    return true;
}

// Whether the job's handler has returned and left it running, so that it belongs to the process
// that will complete it. Needs the lock of the jobs in flight.
bool was_left_running(const core::JobTable &table, std::int64_t job_id)
{
    const std::int32_t entry = table.find(mine.database, job_id);
    return entry != core::no_entry && table.at(entry).holder == memory::left_running_holder();
}

// Releases the jobs that were chosen or running. Returns how many were running. Needs the lock of
// the jobs in flight.
std::int64_t let_go_of_begun(Oid database, Jobs outcome)
{
    if (begun == nullptr)
        return 0;
    core::JobTable table = lanes::jobs_in_flight();
    std::int64_t ran = was_left_running(table, own_executor()->job.id) ? 1 : 0;
    for (const std::int64_t job_id : *begun) {
        const std::int32_t entry = table.find(database, job_id);
        if (entry == core::no_entry || table[entry].holder != mine.slot ||
            table[entry].phase == core::JobPhase::reserved)
            continue;
        ran += table[entry].phase == core::JobPhase::running ? 1 : 0;
        if (outcome != Jobs::finished)
            lanes::return_to_lane(table[entry]);
        table.erase(entry);
    }
    begun->clear();
    return ran;
}

}  // namespace

bool attach_executor(const ExecutorTicket &ticket)
{
    pg::call([] { ::on_shmem_exit(hipq_executor_exits, Datum{0}); });
    const pg::Time now{::GetCurrentTimestamp()};
    const ExecutorLock lock(LW_EXCLUSIVE);
    ExecutorSlot *slot = executor_slot_of(ticket);
    if (slot == nullptr || slot->state != ExecutorState::starting)
        return false;
    if (databases::stands_aside(ticket.database)) {
        free_executor_slot(*slot);
        return false;
    }
    mine = ticket;
    memory::set_own_holder(ticket.slot);
    slot->pid = MyProcPid;
    slot->process = pg::own_number();
    slot->started = now;
    slot->state_since = now;
    return true;
}

int own_executor_index()
{
    return mine.slot;
}

const ExecutorTicket &own_ticket()
{
    return mine;
}

ExecutorSlot *own_executor()
{
    return executor_slot_of(mine);
}

void note_chosen(std::int64_t job_id)
{
    if (begun == nullptr)
        begun = new std::vector<std::int64_t>();
    begun->push_back(job_id);
}

void announce_jobs(const memory::RunningJob &first, std::span<const memory::Attempt> attempts)
{
    hand_look_on();  // no look came before this work
    for (const memory::Attempt &attempt : attempts)
        note_chosen(attempt.id);
    const pg::Time now{::GetCurrentTimestamp()};
    flight::record_running(mine.slot, first, attempts);
    const lanes::InFlightLock lock(LW_EXCLUSIVE);
    core::JobTable table = lanes::jobs_in_flight();
    ExecutorSlot *slot = own_executor();
    slot->state = ExecutorState::running;
    slot->state_since = now;
    slot->job = first;
    slot->stop_control = StopControl{};
    for (const memory::Attempt &attempt : attempts) {
        core::JobEntry running{};
        running.job_id = attempt.id;
        running.database = slot->database;
        running.queue_id = first.queue_id;
        running.holder = mine.slot;
        std::int32_t entry = table.find(slot->database, attempt.id);
        if (entry == core::no_entry)
            entry = table.insert(running);
        if (entry == core::no_entry || table[entry].holder != mine.slot)
            continue;  // no room, or another process still holds it: the slot itself describes the
                       // first job, and then only one runs
        table[entry].phase = core::JobPhase::running;
        table[entry].attempt = attempt.number;
        table[entry].is_closed = false;
        if (attempt.number != 0)  // a retry decision has no weight
            table.weigh(entry, attempt.load);
    }
}

void announce_job(const memory::RunningJob &job)
{
    const memory::Attempt attempt{job.id, job.attempt, {}};
    announce_jobs(job, {&attempt, 1});
}

namespace {

// Marks this executor as woken: it looks for work next, and until then a commit cannot count on it,
// because there may be older jobs. After a look that has found jobs, the mark is set already.
void note_own_look()
{
    // Others change these fields only by setting them to true.
    ExecutorSlot *slot = own_executor();
    if (slot->state != ExecutorState::starting && memory::glance(slot->woken))
        return;
    const ExecutorLock lock(LW_EXCLUSIVE);
    if (slot->state == ExecutorState::starting)
        note_start(slot->database, slot->role, DefaultXactReadOnly);
    slot->woken = true;
}

}  // namespace

void announce_idle(Jobs outcome)
{
    const pg::Time now{::GetCurrentTimestamp()};
    flight::clear_running(mine.slot);
    note_own_look();
    core::FreedCapacity freed{};
    {
        const lanes::InFlightLock lock(LW_EXCLUSIVE);
        ExecutorSlot *slot = own_executor();
        const std::int64_t ended = let_go_of_begun(slot->database, outcome);
        if (slot->state == ExecutorState::running && slot->job.attempt != 0)
            slot->jobs_done += ended;
        slot->state = ExecutorState::idle;
        slot->state_since = now;
        slot->job = memory::RunningJob{};
        slot->stop_control = StopControl{};
        freed = lanes::jobs_in_flight().take_freed_capacity();
    }
    if (freed.any)
        announce_freed_capacity(freed, mine.database, mine.role);
}

void begin_leaving()
{
    const ExecutorLock lock(LW_EXCLUSIVE);
    own_executor()->asked_to_leave = true;
}

void leave_soon()
{
    const ExecutorLock lock(LW_EXCLUSIVE);
    if (ExecutorSlot *slot = own_executor())
        slot->asked_to_leave = true;
}

void note_read_only(pg::Time now)
{
    const ExecutorLock lock(LW_EXCLUSIVE);
    note_read_only_session(mine.database, mine.role, now);
}

bool should_leave(bool idle, pg::Time now)
{
    if (const ExecutorSlot *slot = own_executor(); slot != nullptr && !idle && !is_time_to_ask(now))
        return memory::glance(slot->asked_to_leave);
    {
        const ExecutorLock lock(LW_SHARED);
        const ExecutorSlot *slot = own_executor();
        if (slot == nullptr || slot->asked_to_leave || is_one_too_many(*slot))
            return true;
        if (!has_to_leave(*slot, idle, now))
            return false;
    }
    return give_way(idle, now);
}

namespace {

constinit bool look_follows = false;
constinit bool owes_look = false;

}  // namespace

void note_next_look(bool follows) noexcept
{
    look_follows = follows;
}

bool leave_to_own_look(Oid role) noexcept
{
    if (!look_follows || own_ticket().role != role)
        return false;
    owes_look = true;
    return true;
}

void hand_look_on() noexcept
{
    if (std::exchange(owes_look, false) &&
        !wake_idle_executor(own_ticket().database, own_ticket().role))
        databases::look_due(own_ticket().database, pg::Time{0});
}

void begin_executor_look()
{
    owes_look = false;
    const ExecutorLock lock(LW_EXCLUSIVE);
    own_executor()->woken = false;
    end_turn(*own_executor());
}

bool end_executor_look()
{
    const ExecutorLock lock(LW_EXCLUSIVE);
    return std::exchange(own_executor()->woken, true);
}

bool was_woken()
{
    const ExecutorLock lock(LW_SHARED);
    return own_executor()->woken;
}

}  // namespace hipq::executors
