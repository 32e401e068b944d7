// Keeps deadlines, requests to cancel, and the signals that were sent.
//
// The lock of the jobs in flight guards them: shared for the executor's own, exclusive for others.
#include "shared/executors/stop_control.hpp"

#include <csignal>

#include "core/lanes/job_table.hpp"
#include "core/recovery/stopping.hpp"
#include "shared/executors/own_executor.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::executors {

namespace {

// If a scheduler is held up by a lock, the launcher takes over its work after this time.
constexpr std::int64_t schedulers_advance = 2'000'000;

// The limit of all extensions of an attempt, in seconds: 100 years.
constexpr std::int64_t longest_extension = 3'155'760'000;

// Takes no lock: a stale answer does no harm to the caller.
const memory::DatabaseSlot *slot_of_database(Oid database)
{
    for (const memory::DatabaseSlot &slot : memory::registry()->databases)
        if (slot.database == database)
            return &slot;
    return nullptr;
}

bool has_scheduler(Oid database)
{
    const memory::DatabaseSlot *slot = slot_of_database(database);
    return slot != nullptr && slot->scheduler == memory::SchedulerState::running;
}

// ---- requests to cancel; these functions need the lock ----

// Where the request for a job is stored: with its entry or, if there was no room for an entry, with
// its executor.
struct Request {
    bool *is_there;
    char *error;
};

Request request_of(std::int32_t entry)
{
    return {&lanes::jobs_in_flight()[entry].is_cancelled, lanes::cancellation_error(entry)};
}

Request request_of(ExecutorSlot &slot)
{
    return {&slot.stop_control.is_cancelled, lanes::cancellation_error_of_executor(index_of(slot))};
}

// Returns an executor that runs the job without an entry, or null.
ExecutorSlot *find_slot(Oid database, std::int64_t job_id)
{
    for (ExecutorSlot &slot : executor_slots())
        if (slot.state != ExecutorState::free && slot.database == database && slot.job.id == job_id)
            return &slot;
    return nullptr;
}

std::optional<Request> find_request(Oid database, std::int64_t job_id)
{
    const std::int32_t entry = lanes::jobs_in_flight().find(database, job_id);
    if (entry != core::no_entry)
        return request_of(entry);
    ExecutorSlot *slot = find_slot(database, job_id);
    return slot == nullptr ? std::nullopt : std::optional(request_of(*slot));
}

// Copies a request's error; null means that there is no request.
Cancellation copy_of(const char *error)
{
    Cancellation copy{};
    if (error != nullptr) {
        copy.is_there = true;
        ::strlcpy(copy.error.data(), error, copy.error.size());
    }
    return copy;
}

bool is_controlled(const StopControl &stop_control, std::int64_t job_id)
{
    return stop_control.is_on && (stop_control.job_id == 0 || stop_control.job_id == job_id);
}

// ---- the jobs of an executor; these functions need the lock ----

// Calls `function` with the entry of each job of this process whose claim is durable or about to
// be.
template <class Function>
void for_running_jobs(const Function &function)
{
    core::JobTable table = lanes::jobs_in_flight();
    for (std::int32_t entry = table.first_of(own_executor_index()); entry != core::no_entry;
         entry = table.next_of(entry))
        if (table[entry].phase == core::JobPhase::running)
            function(table[entry]);
}

// Closes or reopens one job, or (0) all of them.
void set_closed(std::int64_t job_id, bool closed)
{
    own_executor()->stop_control.is_closed = closed;
    if (job_id == 0) {
        for_running_jobs([&](core::JobEntry &entry) { entry.is_closed = closed; });
        return;
    }
    core::JobTable table = lanes::jobs_in_flight();
    const std::int32_t entry = table.find(MyDatabaseId, job_id);
    if (entry != core::no_entry && table[entry].holder == own_executor_index() &&
        table[entry].phase == core::JobPhase::running)
        table[entry].is_closed = closed;
}

// Returns the error with which the code under stop control must end, or null if no cancellation was
// requested.
const char *requested_error(const ExecutorSlot &slot)
{
    if (slot.stop_control.is_cancelled && is_controlled(slot.stop_control, slot.job.id))
        return lanes::cancellation_error_of_executor(index_of(slot));
    const core::JobTable table = lanes::jobs_in_flight();
    const bool is_batch = slot.stop_control.job_id == 0;
    std::int32_t entry = is_batch ? table.first_of(own_executor_index())
                                  : table.find(slot.database, slot.stop_control.job_id);
    while (is_batch && entry != core::no_entry && !table.at(entry).is_cancelled)
        entry = table.next_of(entry);
    return entry != core::no_entry && table.at(entry).is_cancelled
               ? lanes::cancellation_error(entry)
               : nullptr;
}

// ---- signals ----

// Signals the process of the slot and its children, as pg_cancel_backend() does. Needs the lock,
// exclusively, so that the pid cannot have been reused.
void send(const ExecutorSlot &slot, int signal)
{
    (void)::kill(-slot.pid, signal);
}

void send_cancellation(ExecutorSlot &slot, pg::Time now)
{
    send(slot, SIGINT);
    slot.stop_control.signalled = true;
    slot.stop_control.cancelled = now;
}

core::Stopping as_rule_sees(const StopControl &stop_control)
{
    core::Stopping job{stop_control.deadline.value, std::nullopt, stop_control.cancelled.value};
    if (stop_control.requested != pg::infinity)
        job.requested = stop_control.requested.value;
    if (stop_control.terminated != pg::infinity)
        job.terminated = stop_control.terminated.value;
    job.is_reported = stop_control.reported;
    return job;
}

// Needs the lock. Returns what was done and when to look again.
core::StopStep take_step(ExecutorSlot &slot, pg::Time now, std::int64_t grace)
{
    const core::StopStep step =
        core::next_stop_step(as_rule_sees(slot.stop_control), now.value, grace);
    switch (step.action) {
    case core::StopAction::wait:
        break;
    case core::StopAction::cancel:
        send_cancellation(slot, now);
        break;
    case core::StopAction::terminate:
        send(slot, SIGTERM);
        slot.stop_control.terminated = now;
        break;
    case core::StopAction::report:
        slot.stop_control.reported = true;
        break;
    }
    return step;
}

UnresponsiveExecutor unresponsive(const ExecutorSlot &slot)
{
    UnresponsiveExecutor executor{slot.pid, slot.job, slot.stop_control.requested != pg::infinity};
    if (slot.stop_control.job_id != 0)
        executor.job.id = slot.stop_control.job_id;
    return executor;
}

// ---- requests ----

// The executor that has started with a job. holder_of() returns nothing if there is none, or if an
// external worker has the job. Needs the lock.
struct Holder {
    ExecutorSlot *slot;
    bool is_closed;
    Request request;
};

std::optional<Holder> holder_of(Oid database, std::int64_t job_id)
{
    const core::JobTable table = lanes::jobs_in_flight();
    const std::int32_t entry = table.find(database, job_id);
    if (entry != core::no_entry) {
        const core::JobEntry &job = table.at(entry);
        if (job.phase != core::JobPhase::running || job.holder >= memory::executor_places())
            return std::nullopt;  // the row still waits, or has all the information
        return Holder{&executor_table().slots[job.holder], job.is_closed, request_of(entry)};
    }
    ExecutorSlot *slot = find_slot(database, job_id);
    return slot == nullptr
               ? std::nullopt
               : std::optional(Holder{slot, slot->stop_control.is_closed, request_of(*slot)});
}

// Needs the lock.
CancelAnswer answer_to_cancellation(const std::optional<Holder> &holder)
{
    if (!holder.has_value())
        return CancelAnswer::not_in_flight;
    const bool is_over = holder->slot->state != ExecutorState::running || holder->is_closed;
    return is_over ? CancelAnswer::changing : CancelAnswer::placed;
}

// By how many whole seconds a deadline must be extended so that at least `wanted` are left.
std::int64_t seconds_short(pg::Time deadline, pg::Time now, std::int64_t wanted)
{
    const std::int64_t short_by = now.value + wanted * USECS_PER_SEC - deadline.value;
    return short_by <= 0 ? 0 : (short_by - 1) / USECS_PER_SEC + 1;
}

// Needs the lock.
Extended extend(StopControl &stop_control, std::int64_t wanted, std::int64_t most)
{
    const pg::Time now{::GetCurrentTimestamp()};
    if (stop_control.deadline <= now || stop_control.requested != pg::infinity)
        return {ExtendAnswer::stopping, {}};
    const std::int64_t seconds = std::min(seconds_short(stop_control.deadline, now, wanted),
                                          longest_extension - stop_control.extended);
    if (stop_control.deadline + seconds * USECS_PER_SEC > stop_control.began + most * USECS_PER_SEC)
        return {ExtendAnswer::too_long, {}};
    stop_control.deadline = stop_control.deadline + seconds * USECS_PER_SEC;
    stop_control.extended += seconds;
    return {ExtendAnswer::extended, stop_control.deadline};
}

}  // namespace

bool begin_stop_control(std::int64_t job_id, pg::Time deadline, bool asks_retry_handler)
{
    const pg::Time now{::GetCurrentTimestamp()};
    const lanes::InFlightLock lock(LW_SHARED);
    ExecutorSlot &slot = *own_executor();
    const bool was_cancelled = slot.stop_control.is_cancelled;
    slot.stop_control = StopControl{};
    slot.stop_control.is_cancelled = was_cancelled;
    slot.stop_control.asks_retry_handler = asks_retry_handler;
    slot.stop_control.job_id = job_id;
    slot.stop_control.began = now;
    slot.stop_control.deadline = deadline;
    pg_write_barrier();  // readers may hold only the shared lock too
    slot.stop_control.is_on = true;
    slot.stop_control.terminated = pg::infinity;
    set_closed(job_id, false);
    const bool is_requested = requested_error(slot) != nullptr;
    slot.stop_control.requested = is_requested ? now : pg::infinity;
    slot.stop_control.cancelled = now;
    return is_requested;
}

EndedStopControl end_stop_control()
{
    Cancellation request{};
    bool signalled = false;
    std::int64_t extended = 0;
    {
        const lanes::InFlightLock lock(LW_SHARED);
        ExecutorSlot &slot = *own_executor();
        extended = slot.stop_control.extended;
        request = copy_of(requested_error(slot));
        signalled = slot.stop_control.signalled;
        slot.stop_control.is_on = false;
        set_closed(slot.stop_control.job_id, true);
    }
    return {signalled,
            request.is_there ? std::optional<std::string>(request.error.data()) : std::nullopt,
            extended};
}

void reopen_jobs()
{
    const lanes::InFlightLock lock(LW_SHARED);
    set_closed(0, false);
}

void resolved(std::int64_t job_id)
{
    const lanes::InFlightLock lock(LW_SHARED);
    forget_cancellation(MyDatabaseId, job_id);
}

namespace {

// How many jobs this executor runs. Only this process changes that.
std::size_t count_running()
{
    std::size_t count = 0;
    const lanes::InFlightLock lock(LW_SHARED);
    for_running_jobs([&](const core::JobEntry &) { ++count; });
    return count;
}

// Closes all jobs. Returns those that were open and must be cancelled.
std::vector<std::int64_t> close_cancelled_jobs()
{
    std::vector<std::int64_t> cancelled(count_running());  // allocated before the lock is taken
    std::size_t count = 0;
    {
        const lanes::InFlightLock lock(LW_SHARED);
        for_running_jobs([&](core::JobEntry &entry) {
            if (entry.is_cancelled && !entry.is_closed && count < cancelled.size())
                cancelled[count++] = entry.job_id;
            entry.is_closed = true;
        });
    }
    cancelled.resize(count);
    return cancelled;
}

Cancellation find_cancellation(std::int64_t job_id)
{
    const lanes::InFlightLock lock(LW_SHARED);
    return cancellation_of(MyDatabaseId, job_id);
}

}  // namespace

std::vector<RequestedJob> close_jobs()
{
    std::vector<RequestedJob> requested;
    for (const std::int64_t id : close_cancelled_jobs())
        requested.push_back({id, find_cancellation(id).error.data()});
    return requested;
}

bool deadline_has_come() noexcept
{
    const ExecutorSlot *slot = own_executor();  // only this process can give up its own slot
    return slot == nullptr || pg::Time{::GetCurrentTimestamp()} >= slot->stop_control.deadline;
}

void wake_watchers() noexcept
{
    memory::wake_process(memory::registry()->launcher);
    if (const memory::DatabaseSlot *slot = slot_of_database(MyDatabaseId))
        memory::wake_process(slot->process);
}

CancelAnswer look_at_cancellation(Oid database, std::int64_t job_id)
{
    const lanes::InFlightLock lock(LW_SHARED);
    return answer_to_cancellation(holder_of(database, job_id));
}

CancelAnswer request_cancellation(Oid database, std::int64_t job_id,
                                  const CancellationError &error) noexcept
{
    const pg::Time now{::GetCurrentTimestamp()};
    const lanes::InFlightLock lock(LW_EXCLUSIVE);
    const auto holder = holder_of(database, job_id);
    const CancelAnswer answer = answer_to_cancellation(holder);
    if (answer != CancelAnswer::placed || std::exchange(*holder->request.is_there, true))
        return answer;
    ::strlcpy(holder->request.error, error.data(), error.size());
    ExecutorSlot &slot = *holder->slot;
    if (is_controlled(slot.stop_control, job_id)) {
        slot.stop_control.requested = std::min(slot.stop_control.requested, now);
        send_cancellation(slot, now);
        wake_watchers();
    }
    return CancelAnswer::placed;
}

Extended extend_deadline(Oid database, std::int64_t job_id, std::int64_t seconds, std::int64_t most)
{
    const lanes::InFlightLock lock(LW_EXCLUSIVE);
    const auto holder = holder_of(database, job_id);
    if (!holder.has_value() || holder->slot->stop_control.asks_retry_handler)
        return {ExtendAnswer::not_running, {}};
    if (holder->slot->state != ExecutorState::running || holder->is_closed ||
        !is_controlled(holder->slot->stop_control, job_id))
        return {ExtendAnswer::changing, {}};
    return extend(holder->slot->stop_control, seconds, most);
}

Extended extend_own_deadline(std::int64_t seconds, std::int64_t most)
{
    const lanes::InFlightLock lock(LW_SHARED);
    ExecutorSlot *slot = own_executor();
    if (slot == nullptr || !slot->stop_control.is_on || slot->stop_control.asks_retry_handler)
        return {ExtendAnswer::not_running, {}};
    return extend(slot->stop_control, seconds, most);
}

Stopped stop_overdue_jobs(Oid database, std::int64_t grace)
{
    const pg::Time now{::GetCurrentTimestamp()};
    Stopped stopped;
    stopped.unresponsive.resize(
        static_cast<std::size_t>(memory::executor_places()));  // allocated before the lock is taken
    std::size_t count = 0;
    {
        const lanes::InFlightLock lock(LW_EXCLUSIVE);
        for (ExecutorSlot &slot : executor_slots()) {
            if (slot.state != ExecutorState::running || !slot.stop_control.is_on)
                continue;
            if (OidIsValid(database) && slot.database != database)
                continue;
            const bool somebody_does = !OidIsValid(database) && has_scheduler(slot.database);
            const core::StopStep step =
                take_step(slot, now, grace + (somebody_does ? schedulers_advance : 0));
            stopped.next = std::min(stopped.next, pg::Time{step.next});
            if (step.action == core::StopAction::report)
                stopped.unresponsive[count++] = unresponsive(slot);
            if (slot.stop_control.reported)
                memory::raise_alert(memory::Alert::executor_unresponsive, slot.database);
        }
    }
    stopped.unresponsive.resize(count);
    return stopped;
}

Cancellation cancellation_of(Oid database, std::int64_t job_id) noexcept
{
    const auto request = find_request(database, job_id);
    return copy_of(request.has_value() && *request->is_there ? request->error : nullptr);
}

void forget_cancellation(Oid database, std::int64_t job_id) noexcept
{
    if (const auto request = find_request(database, job_id))
        *request->is_there = false;
}

}  // namespace hipq::executors
