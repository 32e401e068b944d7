// Notes what a transaction does to jobs of external workers, and carries it out at commit.
#include "core/lanes/job_table.hpp"
#include "core/limits/throttle.hpp"
#include "core/limits/worker_quota.hpp"
#include "core/workers/worker_health.hpp"
#include "pg/clock.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/executors/freed_capacity.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/own_holder.hpp"
#include "shared/memory/registry.hpp"
#include "shared/memory/transaction_notes.hpp"
#include "shared/workers/entries.hpp"
#include "shared/workers/worker_table.hpp"

namespace hipq::workers {

namespace {

enum class JobNoteKind : unsigned char { accepted, extended, left, left_running };

struct JobNote {
    JobNoteKind kind;
    std::int64_t job_id;
    int attempt;
    pg::Time deadline;
    Leaving leaving;
    std::int64_t run_time;
    std::int64_t worker_id = 0;  // the worker that it has left
    int queue_id = 0;            // the queue of a job that is left running
    core::Load load{};           // of an accepted job, or of one that is left running
    std::uint64_t serial = 0;    // entry of a job that a client's session leaves running
    ItemPointerData place{};     // the row of an accepted job
    core::AttemptEnd end = core::AttemptEnd::uncounted;
};

constinit memory::TransactionNotes<JobNote> *job_notes =
    nullptr;  // on the heap, so that no destructor runs at exit

void add(const JobNote &note)
{
    if (!memory::is_loaded())
        return;
    if (job_notes == nullptr)
        job_notes = new memory::TransactionNotes<JobNote>();
    job_notes->add(note);
}

core::Execution execution_of(Leaving leaving)
{
    if (leaving == Leaving::blamed_on_job)
        return core::Execution::blamed_on_job;
    return leaving == Leaving::succeeded ? core::Execution::succeeded : core::Execution::failed;
}

// Updates the worker's record.
void tell_worker(std::int64_t worker_id, const core::JobEntry &job, const JobNote &note)
{
    switch (note.leaving) {
    case Leaving::succeeded:
    case Leaving::failed:
    case Leaving::blamed_on_job:
        note_finished(worker_id, execution_of(note.leaving), note.run_time, job.is_probe);
        break;
    case Leaving::expired:
        note_expired(worker_id);
        break;
    case Leaving::returned:
        note_returned(worker_id, is_offered(job) ? Holding::offered : Holding::running);
        break;
    }
}

// Changes that other processes must learn after the transaction.
struct Done {
    pg::Time next = pg::infinity;  // the first of the new deadlines
    bool has_left = false;
    bool has_changed_breaker = false;
    bool lacks_capacity = false;  // a job was left running without an entry; only its row tells
};

// Needs the lock. Jobs that are left running do not take the room that is kept for executors.
// Together they may take at most as much of the rest as the workers of one role.
bool has_capacity_to_leave_running(const core::JobTable &table)
{
    const auto used = static_cast<std::int64_t>(table.size());
    const auto capacity = static_cast<std::int64_t>(lanes::entries_beyond_the_first(table));
    const bool has_capacity =
        core::left_for_role(used + capacity, settings::max_owner_share,
                            {used, table.count_of(memory::left_running_holder())}) > 0;
    if (!has_capacity)
        memory::raise_alert(memory::Alert::jobs_in_flight_full);
    return has_capacity;
}

// Needs the lock. For a job that an executor has in flight. Another process that has seen the
// commit may have ended the job already; then the executor no longer has it.
void leave_running(core::JobTable &table, const JobNote &note, Done &done)
{
    const std::int32_t entry = table.find(MyDatabaseId, note.job_id);
    if (entry == core::no_entry || table.at(entry).holder != memory::own_holder())
        return;
    if (!has_capacity_to_leave_running(table)) {
        table.erase(entry);
        done.lacks_capacity = true;
        return;
    }
    table.hand_over(entry, memory::left_running_holder());
    table[entry].is_accepted = true;
    table[entry].deadline = note.deadline.value;
    done.next = std::min(done.next, note.deadline);
}

// ---- a client's session, which has nothing in flight ----

bool is_client_s(const JobNote &note)
{
    return note.kind == JobNoteKind::left_running && memory::own_holder() < 0;
}

// Needs the lock. Runs before the commit, because only until then no other process can change the
// row. An executor may have the job, as a waiting one, in its prefetched batch; it finds that the
// job is gone. If the transaction is rolled back after all, the job waits.
void enter_left_running(core::JobTable &table, JobNote &note)
{
    if (const std::int32_t stranger = table.find(MyDatabaseId, note.job_id);
        stranger != core::no_entry) {
        lanes::return_to_lane(table[stranger]);
        table.erase(stranger);
    }
    if (!has_capacity_to_leave_running(table))
        return;
    core::JobEntry fresh{};
    fresh.job_id = note.job_id;
    fresh.database = MyDatabaseId;
    fresh.queue_id = note.queue_id;
    fresh.attempt = note.attempt;
    fresh.holder = memory::left_running_holder();
    fresh.deadline = note.deadline.value;
    fresh.phase = core::JobPhase::running;
    fresh.is_accepted = true;
    const std::int32_t entry = table.insert(fresh);
    table.weigh(entry, note.load);
    note.serial = table[entry].serial;
}

// Needs the lock.
void reclaim_left_running(core::JobTable &table, const JobNote &note)
{
    const std::int32_t entry = table.find(MyDatabaseId, note.job_id);
    if (entry != core::no_entry && table.at(entry).serial == note.serial)
        table.erase(entry);
}

void tell_of_left_running(const JobNote &note, Done &done)
{
    if (note.serial == 0)
        done.lacks_capacity = true;
    else
        done.next = std::min(done.next, note.deadline);
}

// ---- the end of a transaction ----

// Whether an executor is running the job. If the job's row says that it was left running, the
// executor is about to hand it over.
bool is_being_left(const core::JobEntry &job)
{
    return job.phase == core::JobPhase::running && job.holder < memory::scheduler_holder(0);
}

// Needs the lock. If the executor has not yet released the job, it finds that it is gone.
void leave_worker(core::JobTable &table, const JobNote &note, Done &done)
{
    const std::int32_t entry = table.find(MyDatabaseId, note.job_id);
    if (entry == core::no_entry || table.at(entry).attempt != note.attempt)
        return;
    const core::JobEntry left = table.at(entry);
    if (!has_worker(left) && !(note.worker_id == 0 && is_being_left(left)))
        return;
    const std::int64_t worker_id = has_worker(left) ? worker_at(place_of(left)) : 0;
    if (note.end != core::AttemptEnd::uncounted && left.has_breaker &&
        table.conclude(entry, note.end == core::AttemptEnd::failed, pg::steady_now()))
        done.has_changed_breaker = true;
    table.erase(entry);
    tell_worker(worker_id, left, note);
    done.has_left = true;
}

// Needs the lock.
void accept(core::JobTable &table, const JobNote &note)
{
    const std::int32_t entry = table.find(MyDatabaseId, note.job_id);
    if (entry == core::no_entry || !is_being_accepted(table.at(entry)))
        return;
    table[entry].is_accepted = true;
    table[entry].attempt = note.attempt;
    table[entry].place = row_place(note.place);
    if (!table.weighs(entry, note.load))
        table.weigh(entry, note.load);
    table.start(entry, pg::steady_now());  // the worker learns of the job after the commit
}

// Needs the lock.
void carry_out(const JobNote &note, Done &done)
{
    core::JobTable table = lanes::jobs_in_flight();
    if (is_client_s(note)) {
        tell_of_left_running(note, done);
        return;
    }
    if (note.kind == JobNoteKind::left_running) {
        leave_running(table, note, done);
        return;
    }
    if (note.kind == JobNoteKind::left) {
        leave_worker(table, note, done);
        return;
    }
    if (note.kind == JobNoteKind::accepted)
        accept(table, note);
    const std::int32_t entry = find_attempt(table, note.job_id, note.attempt);
    if (entry == core::no_entry)
        return;
    table[entry].deadline = note.deadline.value;
    done.next = std::min(done.next, note.deadline);
}

// Calls `fn` for each note about a job that a client's session leaves running.
template <class Function>
void with_left_running(const Function &fn)
{
    if (!job_notes->any(is_client_s))
        return;
    core::FreedCapacity freed{};
    {
        const lanes::InFlightLock lock(LW_EXCLUSIVE);
        core::JobTable table = lanes::jobs_in_flight();
        job_notes->carry_out([&](JobNote &note) {
            if (is_client_s(note))
                fn(table, note);
        });
        freed = table.take_freed_capacity();
    }
    if (freed.any)
        executors::announce_freed_capacity(freed, MyDatabaseId, InvalidOid);
}

void carry_out_all()
{
    core::FreedCapacity freed{};
    Done done;
    {
        const lanes::InFlightLock lock(LW_EXCLUSIVE);
        job_notes->carry_out([&](const JobNote &note) { carry_out(note, done); });
        freed = lanes::jobs_in_flight().take_freed_capacity();
    }
    if (done.lacks_capacity) {
        databases::jobs_restored(MyDatabaseId);  // the search after a restore finds such jobs too
        done.next = pg::Time{0};
    }
    if (done.has_changed_breaker)
        done.next = pg::Time{0};  // the change is to be written to hipq.breaker_state
    if (done.next != pg::infinity)
        databases::work_due(MyDatabaseId, done.next);
    if (freed.any)
        executors::announce_freed_capacity(freed, MyDatabaseId, InvalidOid);
    if (done.has_left)
        databases::ask_for_dispatch(MyDatabaseId);
}

extern "C" void hipq_external_transaction_ends(XactEvent event, void *)
{
    if (job_notes == nullptr || job_notes->empty())
        return;
    switch (event) {
    case XACT_EVENT_PRE_COMMIT:
        with_left_running(enter_left_running);
        break;
    case XACT_EVENT_COMMIT:
        carry_out_all();
        job_notes->forget();
        break;
    case XACT_EVENT_ABORT:
        with_left_running(reclaim_left_running);
        job_notes->forget();
        break;
    case XACT_EVENT_PREPARE:
        job_notes->forget();
        break;
    default:
        break;
    }
}

extern "C" void hipq_external_subtransaction_ends(SubXactEvent event, SubTransactionId id,
                                                  SubTransactionId parent, void *)
{
    if (job_notes != nullptr)
        job_notes->end_subtransaction(event, id, parent);
}

}  // namespace

std::size_t own_ends(std::int64_t worker_id)
{
    std::size_t count = 0;
    if (job_notes != nullptr)
        job_notes->carry_out([&](const JobNote &note) {
            count += note.kind == JobNoteKind::left && note.worker_id == worker_id ? 1 : 0;
        });
    return count;
}

void note_job_accepted(std::int64_t job_id, int attempt, const core::Load &load, pg::Time deadline,
                       ItemPointerData place)
{
    JobNote note{JobNoteKind::accepted, job_id, attempt, deadline, Leaving::returned, 0};
    note.load = load;
    note.place = place;
    add(note);
}

void note_job_extended(std::int64_t job_id, int attempt, pg::Time deadline)
{
    add({JobNoteKind::extended, job_id, attempt, deadline, Leaving::returned, 0});
}

void note_job_left(std::int64_t job_id, int attempt, std::int64_t worker_id, Leaving leaving,
                   std::int64_t run_time, core::AttemptEnd end)
{
    JobNote note{JobNoteKind::left, job_id, attempt, pg::infinity, leaving, run_time, worker_id};
    note.end = end;
    add(note);
}

void note_job_left_running(int queue_id, std::int64_t job_id, int attempt, const core::Load &load,
                           pg::Time deadline)
{
    add({JobNoteKind::left_running, job_id, attempt, deadline, Leaving::returned, 0, 0, queue_id,
         load});
}

void watch_external_jobs()
{
    ::RegisterXactCallback(hipq_external_transaction_ends, nullptr);
    ::RegisterSubXactCallback(hipq_external_subtransaction_ends, nullptr);
}

}  // namespace hipq::workers
