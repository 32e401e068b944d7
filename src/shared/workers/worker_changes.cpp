// Notes what a transaction does to the workers, and carries it out at commit.
#include "core/limits/worker_quota.hpp"
#include "core/statistics/rate_limit.hpp"
#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/memory/registry.hpp"
#include "shared/workers/worker_table.hpp"

namespace hipq::workers {

namespace {

enum class WorkerNoteKind : unsigned char {
    registered,
    bound,
    departed,
    draining,
    stopped_listening
};

struct WorkerNote {
    WorkerNoteKind kind;
    std::int64_t id;
    SubTransactionId subtransaction;
};

using WorkerNotes = std::vector<WorkerNote>;
constinit WorkerNotes *worker_notes = nullptr;  // on the heap, so that no destructor runs at exit
constinit bool watches_exit = false;

bool has_notes()
{
    return worker_notes != nullptr && !worker_notes->empty();
}

void add_note(WorkerNoteKind kind, std::int64_t id)
{
    if (worker_notes == nullptr)
        worker_notes = new WorkerNotes();
    worker_notes->push_back({kind, id, ::GetCurrentSubTransactionId()});
}

bool has_jobs(const WorkerSlot &slot)
{
    return slot.record.depth > 0 || slot.running > 0;
}

// Accepted jobs are reclaimed after the grace period, the others at once. From now on there may be
// jobs that no worker can run.
void tell_of_end(pg::Time now) noexcept
{
    databases::work_due(MyDatabaseId, now);
    databases::work_due(MyDatabaseId, now + settings::worker_grace.microseconds());
    databases::ask_for_dispatch(MyDatabaseId);
}

// Needs the lock.
void end_own(pg::Time now)
{
    for (WorkerSlot &slot : worker_slots())
        if (slot.state == WorkerState::present && slot.process == pg::own_number())
            end_worker(slot, now);
}

void make_present(WorkerSlot &slot, bool is_bound)
{
    slot.state = WorkerState::present;
    slot.is_successor = false;
    slot.record.is_bound = is_bound;
    if (!is_bound) {
        slot.pid = 0;
        slot.process = memory::no_process;
    }
}

void depart(WorkerSlot &slot, pg::Time now)
{
    end_worker(slot, now);
    slot.has_departed = true;
}

// After a restart, a worker's jobs are unknown until the tables have been read.
bool may_have_jobs(const WorkerSlot &slot, bool is_recovered)
{
    return !is_recovered || has_jobs(slot);
}

// Needs the lock.
void carry_out(const WorkerNote &note, bool is_recovered, pg::Time now)
{
    if (note.kind == WorkerNoteKind::stopped_listening)
        end_own(now);
    WorkerSlot *slot = find_slot(MyDatabaseId, note.id);
    if (slot == nullptr)
        return;
    if (note.kind == WorkerNoteKind::draining || note.kind == WorkerNoteKind::departed)
        memory::wake_process(slot->waiting);
    if (note.kind == WorkerNoteKind::registered || note.kind == WorkerNoteKind::bound)
        make_present(*slot, note.kind == WorkerNoteKind::bound);
    else if (note.kind == WorkerNoteKind::draining)
        slot->is_draining = true;
    else if (note.kind == WorkerNoteKind::departed && !may_have_jobs(*slot, is_recovered))
        free_place(*slot);
    else if (note.kind == WorkerNoteKind::departed)
        depart(*slot, now);
}

// Needs the lock.
void undo(const WorkerNote &note)
{
    if (note.kind != WorkerNoteKind::registered && note.kind != WorkerNoteKind::bound)
        return;
    WorkerSlot *slot = find_slot(MyDatabaseId, note.id);
    if (slot != nullptr && slot->state == WorkerState::registering)
        free_place(*slot);
}

extern "C" void hipq_workers_transaction_ends(XactEvent event, void *)
{
    const bool commits = event == XACT_EVENT_COMMIT;
    if (!has_notes() || (!commits && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE))
        return;
    const pg::Time now = pg::now();
    const bool has_ended = std::ranges::any_of(*worker_notes, [](const WorkerNote &note) {
        return note.kind == WorkerNoteKind::stopped_listening ||
               note.kind == WorkerNoteKind::departed;
    });
    const bool is_recovered = databases::is_recovered(MyDatabaseId);
    {
        const WorkerLock lock(LW_EXCLUSIVE);
        for (const WorkerNote &note : *worker_notes)
            if (commits)
                carry_out(note, is_recovered, now);
            else
                undo(note);
        worker_table().changes += commits ? 1 : 0;
    }
    worker_notes->clear();
    if (commits && has_ended)
        tell_of_end(now);
}

extern "C" void hipq_workers_subtransaction_ends(SubXactEvent event, SubTransactionId id,
                                                 SubTransactionId parent, void *)
{
    if (!has_notes() || (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB))
        return;
    const WorkerLock lock(LW_EXCLUSIVE);
    for (std::size_t i = worker_notes->size(); i > 0; --i) {
        WorkerNote &note = (*worker_notes)[i - 1];
        if (note.subtransaction != id)
            continue;
        if (event == SUBXACT_EVENT_COMMIT_SUB) {
            note.subtransaction = parent;
        } else {
            undo(note);
            worker_notes->erase(worker_notes->begin() + static_cast<std::ptrdiff_t>(i - 1));
        }
    }
}

extern "C" void hipq_worker_session_exits(int, Datum)
{
    end_own_workers();
}

// ---- whether there is room ----

// Limits registrations, because each arrival or departure makes all processes read again which
// types have workers, and makes the scheduler look. All workers of a large role may start at once.
constexpr core::RateLimit registration_rate{50'000, 1'000};

// If the table is full, a new role replaces the role that has been quiet longest.
core::RateState &rate_of(Oid role)
{
    auto &rates = worker_table().rates;
    RoleRate *rate = std::ranges::find(rates, role, &RoleRate::role);
    if (rate == std::end(rates)) {
        rate = std::ranges::min_element(rates, {},
                                        [](const RoleRate &one) { return one.state.paid_until; });
        *rate = {role, {}};
    }
    return rate->state;
}

// Workers that have departed with jobs in flight take up the share of their own role, and of no
// other.
std::int64_t left_to_register(const WorkerCounts &counts)
{
    const WorkerTable &table = worker_table();
    const std::int64_t departed_beyond = counts.places - (table.capacity - table.most);
    return core::left_for_role(table.most, settings::max_owner_share,
                               {std::max(counts.registered, departed_beyond), counts.own_places});
}

// A worker that takes over the name of another one also takes its place, however full the table is.
// The other worker may stay for its jobs: one for each registered worker, and a few more for a
// worker that fails repeatedly.
bool may_succeed(std::int64_t predecessor, const WorkerCounts &counts)
{
    const WorkerSlot *slot = find_slot(MyDatabaseId, predecessor);
    const std::int64_t departed = counts.own_places - counts.own_registered;
    return slot != nullptr && !slot->has_departed &&
           departed < counts.own_registered + core::reserve_of_role(worker_table().most);
}

void watch_own_exit()
{
    if (!std::exchange(watches_exit, true))
        pg::call([] { ::on_shmem_exit(hipq_worker_session_exits, Datum{0}); });
}

}  // namespace

Registered register_worker(const NewWorker &worker, std::optional<std::int64_t> predecessor)
{
    if (worker.is_bound)
        watch_own_exit();
    add_note(worker.is_bound ? WorkerNoteKind::bound : WorkerNoteKind::registered, worker.id);
    const pg::Time now = pg::now();
    const TimestampTz clock = ::GetCurrentTimestamp();
    const WorkerLock lock(LW_EXCLUSIVE);
    if (!core::may_do_now(rate_of(worker.role), registration_rate, clock))
        return Registered::too_often;
    const WorkerCounts counts = count_workers(worker.role);
    const bool succeeds = predecessor.has_value() && may_succeed(*predecessor, counts);
    if (!succeeds && left_to_register(counts) == 0)
        return counts.registered < worker_table().most ? Registered::no_share
                                                       : Registered::no_capacity;
    WorkerSlot *slot = add_worker(worker, WorkerState::registering, now);
    if (slot == nullptr)
        return Registered::no_capacity;
    slot->is_successor = succeeds;
    slot->process = pg::own_number();
    slot->pid = MyProcPid;
    return Registered::yes;
}

void note_departure(std::int64_t id)
{
    add_note(WorkerNoteKind::departed, id);
}

void note_draining(std::int64_t id)
{
    add_note(WorkerNoteKind::draining, id);
}

void note_end_of_listening()
{
    add_note(WorkerNoteKind::stopped_listening, 0);
}

void end_own_workers() noexcept
{
    if (!watches_exit || !memory::is_loaded())
        return;
    const pg::Time now = pg::now();
    bool ended = false;
    {
        const WorkerLock lock(LW_EXCLUSIVE);
        ended =
            std::any_of(worker_slots().begin(), worker_slots().end(), [](const WorkerSlot &slot) {
                return slot.state == WorkerState::present && slot.process == pg::own_number();
            });
        end_own(now);
    }
    if (ended)
        tell_of_end(now);
}

bool has_own_workers()
{
    if (!watches_exit || !memory::is_loaded())
        return false;
    const WorkerLock lock(LW_SHARED);
    return std::any_of(worker_slots().begin(), worker_slots().end(), [](const WorkerSlot &slot) {
        return slot.state != WorkerState::free && slot.process == pg::own_number();
    });
}

void watch_workers()
{
    ::RegisterXactCallback(hipq_workers_transaction_ends, nullptr);
    ::RegisterSubXactCallback(hipq_workers_subtransaction_ends, nullptr);
}

}  // namespace hipq::workers
