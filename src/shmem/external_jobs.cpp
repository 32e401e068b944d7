// Entries of the table of jobs in hand whose holder is a worker's place.
#include "external_jobs.hpp"

#include "shmem/databases.hpp"
#include "shmem/own_holder.hpp"
#include "shmem/room.hpp"
#include "shmem/transaction_notes.hpp"
#include "shmem/worker_table.hpp"

namespace hipq::shmem {

namespace {

bool has_worker(const core::JobEntry &job)
{
    return job.job_id != 0 && job.holder >= worker_holder(0);
}

std::int32_t place_of(const core::JobEntry &job)
{
    return job.holder - worker_holder(0);
}

// Without its worker's id.
ExternalJob external_job(const core::JobEntry &job)
{
    return {job.job_id, job.queue_id, job.attempt, 0, job.is_accepted, pg::Time{job.deadline}};
}

// An entry whose place is that of a worker has one, as that counts it.
void name_workers(std::span<ExternalJob> jobs, std::span<const std::int32_t> places)
{
    for (std::size_t i = 0; i < jobs.size(); ++i)
        jobs[i].worker_id = worker_at(places[i]);
}

// Copies the jobs that `wanted` says, at most as many as there is room for.
struct Copies {
    std::vector<ExternalJob> jobs;
    std::vector<std::int32_t> places;
    std::size_t count = 0;

    explicit Copies(std::size_t most) : jobs(most), places(most) {}  // before the lock: allocation
    bool is_full() const { return count == jobs.size(); }
    void add(const core::JobEntry &job)
    {
        jobs[count] = external_job(job);
        places[count++] = place_of(job);
    }
    std::vector<ExternalJob> take()
    {
        jobs.resize(count);
        name_workers(jobs, places);
        return std::move(jobs);
    }
};

std::int32_t find_attempt(const core::JobTable &table, std::int64_t job_id, int attempt)
{
    const std::int32_t entry = table.find(MyDatabaseId, job_id);
    return entry != core::no_entry && has_worker(table.at(entry)) && table.at(entry).attempt == attempt ? entry : core::no_entry;
}

// ---- the transaction ----

enum class NoteKind : unsigned char { accepted, extended, left, left_running };

struct Note {
    NoteKind kind;
    std::int64_t job_id;
    int attempt;
    pg::Time deadline;
    Leaving leaving;
    std::int64_t run_time;
    int queue_id = 0;  // of one that is left running, and what it weighs
    core::Load load{};
};

constinit TransactionNotes<Note> *notes = nullptr;  // on the heap: no destructor at exit

void add(const Note &note)
{
    if (!is_loaded())
        return;
    if (notes == nullptr)
        notes = new TransactionNotes<Note>();
    notes->add(note);
}

// As the transaction at hand sees them.
void add_own_changes(std::vector<ExternalJob> &jobs)
{
    if (notes == nullptr)
        return;
    notes->carry_out([&](const Note &note) {
        const auto job = std::ranges::find_if(
            jobs, [&](const ExternalJob &one) { return one.id == note.job_id && one.attempt == note.attempt; });
        if (job == jobs.end())
            return;
        if (note.kind == NoteKind::left) {
            jobs.erase(job);
            return;
        }
        job->is_accepted = true;
        job->deadline = note.deadline;
    });
}

// What the worker learns from it.
void tell_worker(std::int64_t worker_id, const core::JobEntry &job, const Note &note)
{
    switch (note.leaving) {
    case Leaving::succeeded:
    case Leaving::failed:
        if (!job.is_accepted)
            note_accepted(worker_id);
        note_finished(worker_id, note.leaving == Leaving::succeeded, note.run_time);
        break;
    case Leaving::expired:
        note_expired(worker_id);
        break;
    case Leaving::returned:
        note_returned(worker_id, job.is_accepted ? Holding::accepted : Holding::dispatched);
        break;
    }
}

// Needs the lock. Of a job that ran in a client's session, or for which there was no room.
std::int32_t enter_left_running(core::JobTable &table, const Note &note, std::int32_t holder)
{
    core::JobEntry fresh{};
    fresh.job_id = note.job_id;
    fresh.database = MyDatabaseId;
    fresh.queue_id = note.queue_id;
    fresh.attempt = note.attempt;
    fresh.holder = holder;
    fresh.phase = core::JobPhase::running;
    const std::int32_t entry = table.insert(fresh);
    if (entry != core::no_entry)
        table.weigh(entry, note.load);
    return entry;
}

// Needs the lock.
pg::Time leave_running(core::JobTable &table, const Note &note)
{
    const std::int32_t holder = left_running_holder();
    std::int32_t entry = table.find(MyDatabaseId, note.job_id);
    if (entry != core::no_entry)
        table.hand_over(entry, holder);
    else
        entry = enter_left_running(table, note, holder);
    if (entry == core::no_entry)  // there is no room: its row tells
        return pg::infinity;
    table[entry].is_accepted = true;
    table[entry].deadline = note.deadline.value;
    return note.deadline;
}

// Needs the lock. Returns the new deadline; infinity: there is none.
pg::Time carry_out(const Note &note)
{
    core::JobTable table = jobs_in_hand();
    if (note.kind == NoteKind::left_running)
        return leave_running(table, note);
    const std::int32_t entry = find_attempt(table, note.job_id, note.attempt);
    if (entry == core::no_entry)
        return pg::infinity;
    core::JobEntry &job = table[entry];
    const std::int64_t worker_id = worker_at(place_of(job));
    if (note.kind == NoteKind::left) {
        const core::JobEntry left = job;
        table.erase(entry);
        tell_worker(worker_id, left, note);
        return pg::infinity;
    }
    if (note.kind == NoteKind::accepted && !std::exchange(job.is_accepted, true))
        note_accepted(worker_id);
    job.deadline = note.deadline.value;
    return note.deadline;
}

void carry_out_all()
{
    core::RoomMade room_made{};
    pg::Time next = pg::infinity;
    bool has_left = false;
    {
        const Lock lock(LW_EXCLUSIVE);
        notes->carry_out([&](const Note &note) {
            has_left = has_left || note.kind == NoteKind::left;
            next = std::min(next, carry_out(note));
        });
        room_made = jobs_in_hand().take_room_made();
    }
    if (next != pg::infinity)
        work_due(MyDatabaseId, next);
    if (room_made.any)
        tell_of_room(room_made, MyDatabaseId, InvalidOid);
    if (has_left)
        ask_for_dispatch(MyDatabaseId);
}

extern "C" void hipq_external_transaction_ends(XactEvent event, void *)
{
    const bool commits = event == XACT_EVENT_COMMIT;
    if (notes == nullptr || notes->empty() || (!commits && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE))
        return;
    if (commits)
        carry_out_all();
    notes->forget();
}

extern "C" void hipq_external_subtransaction_ends(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *)
{
    if (notes != nullptr)
        notes->end_subtransaction(event, id, parent);
}

}  // namespace

// ---- dispatch ----

void begin_dispatch(std::span<const Dispatched> jobs)
{
    const Lock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_hand();
    for (const Dispatched &job : jobs) {
        const std::int32_t entry = table.find(MyDatabaseId, job.id);
        if (entry == core::no_entry || table[entry].holder != own_holder())
            continue;
        table[entry].phase = core::JobPhase::running;
        table[entry].attempt = job.attempt;
        table[entry].deadline = job.deadline.value;
        table[entry].is_accepted = false;
    }
}

void end_dispatch(std::span<const Dispatched> jobs) noexcept
{
    pg::Time next = pg::infinity;
    {
        const Lock lock(LW_EXCLUSIVE);
        core::JobTable table = jobs_in_hand();
        for (const Dispatched &job : jobs) {
            next = std::min(next, job.deadline);
            if (const std::int32_t entry = table.find(MyDatabaseId, job.id); entry != core::no_entry)
                table.hand_over(entry, worker_holder(job.worker.place));
        }
    }
    if (next != pg::infinity)
        work_due(MyDatabaseId, next);
    for (const Dispatched &job : jobs)
        wake_waiting_worker(job.worker);
}

void cancel_dispatch(std::span<const Dispatched> jobs) noexcept
{
    core::RoomMade room_made{};
    {
        const Lock lock(LW_EXCLUSIVE);
        core::JobTable table = jobs_in_hand();
        for (const Dispatched &job : jobs) {
            note_returned(job.worker.id, Holding::dispatched);
            const std::int32_t entry = table.find(MyDatabaseId, job.id);
            if (entry == core::no_entry || table[entry].holder != own_holder())
                continue;
            return_to_line(table[entry]);
            table.erase(entry);
        }
        room_made = table.take_room_made();
    }
    if (room_made.any)
        tell_of_room(room_made, MyDatabaseId, InvalidOid);
}

bool give_back_dispatch(int holder) noexcept
{
    bool may_have_committed = false;
    jobs_in_hand().erase_if(holder, [&](const core::JobEntry &job) {
        may_have_committed = may_have_committed || job.phase == core::JobPhase::running;
        return_to_line(job);
        return true;
    });
    return may_have_committed;
}

// ---- after the end of a server or scheduler ----

bool enter_external_job(const ExternalJob &job, const core::Load &load)
{
    const std::optional<std::int32_t> place = place_of_worker(job.worker_id);
    if (!place.has_value())
        return false;
    core::JobEntry fresh{};
    fresh.job_id = job.id;
    fresh.database = MyDatabaseId;
    fresh.queue_id = job.queue_id;
    fresh.attempt = job.attempt;
    fresh.holder = worker_holder(*place);
    fresh.deadline = job.deadline.value;
    fresh.phase = core::JobPhase::running;
    fresh.is_accepted = job.is_accepted;
    const Lock lock(LW_EXCLUSIVE);
    core::JobTable table = jobs_in_hand();
    if (table.find(MyDatabaseId, job.id) != core::no_entry)
        return true;
    const std::int32_t entry = table.insert(fresh);
    if (entry == core::no_entry)
        return false;
    table.weigh(entry, load);
    note_held(job.worker_id, job.is_accepted ? Holding::accepted : Holding::dispatched);
    return true;
}

void recount_workers()
{
    const std::vector<WorkerSlot> workers = list_workers();
    std::vector<std::int32_t> places;
    places.reserve(workers.size());
    for (const WorkerSlot &worker : workers)
        places.push_back(place_of_worker(worker.id).value_or(-1));
    const Lock lock(LW_EXCLUSIVE);
    const core::JobTable table = jobs_in_hand();
    for (std::size_t i = 0; i < workers.size(); ++i) {
        if (places[i] < 0)
            continue;
        int dispatched = 0;
        int accepted = 0;
        for (std::int32_t entry = table.first_of(worker_holder(places[i])); entry != core::no_entry; entry = table.next_of(entry))
            ++(table.at(entry).is_accepted ? accepted : dispatched);
        note_in_hand(workers[i].id, dispatched, accepted);
    }
}

void drop_external_job(std::int64_t job_id, int attempt) noexcept
{
    core::RoomMade room_made{};
    {
        const Lock lock(LW_EXCLUSIVE);
        core::JobTable table = jobs_in_hand();
        const std::int32_t entry = find_attempt(table, job_id, attempt);
        if (entry == core::no_entry)
            return;
        const core::JobEntry &job = table.at(entry);
        note_returned(worker_at(place_of(job)), job.is_accepted ? Holding::accepted : Holding::dispatched);
        table.erase(entry);
        room_made = table.take_room_made();
    }
    if (room_made.any)
        tell_of_room(room_made, MyDatabaseId, InvalidOid);
    ask_for_dispatch(MyDatabaseId);
}

void forget_external_jobs(Oid database) noexcept
{
    core::JobTable table = jobs_in_hand();
    for (std::size_t i = 0; i < table.capacity(); ++i) {
        const auto entry = static_cast<std::int32_t>(i);
        if (has_worker(table.at(entry)) && table.at(entry).database == database)
            table.erase(entry);
    }
    (void)table.take_room_made();
}

// ---- looking ----

OverdueJobs overdue_jobs(pg::Time now, std::size_t most)
{
    OverdueJobs overdue;
    Copies copies(most);
    {
        const Lock lock(LW_SHARED);
        for (const core::JobEntry &job : jobs_in_hand().entries()) {
            if (!has_worker(job) || job.database != MyDatabaseId)
                continue;
            if (pg::Time{job.deadline} > now || copies.is_full())
                overdue.next = std::min(overdue.next, pg::Time{job.deadline});
            else
                copies.add(job);
        }
    }
    overdue.jobs = copies.take();
    return overdue;
}

std::vector<ExternalJob> jobs_of_worker(std::int64_t worker_id)
{
    const std::optional<std::int32_t> place = is_loaded() ? place_of_worker(worker_id) : std::nullopt;
    if (!place.has_value())
        return {};
    Copies copies(count_in_hand());
    {
        const Lock lock(LW_SHARED);
        const core::JobTable table = jobs_in_hand();
        for (std::int32_t entry = table.first_of(worker_holder(*place)); entry != core::no_entry && !copies.is_full();
             entry = table.next_of(entry))
            copies.add(table.at(entry));
    }
    std::vector<ExternalJob> jobs = copies.take();
    std::reverse(jobs.begin(), jobs.end());  // the one entered last comes first
    add_own_changes(jobs);
    return jobs;
}

std::vector<ExternalJob> list_external_jobs()
{
    if (!is_loaded())
        return {};
    Copies copies(count_in_hand());
    {
        const Lock lock(LW_SHARED);
        for (const core::JobEntry &job : jobs_in_hand().entries())
            if (has_worker(job) && job.database == MyDatabaseId && !copies.is_full())
                copies.add(job);
    }
    return copies.take();
}

std::optional<ExternalJob> find_external_job(std::int64_t job_id)
{
    if (!is_loaded())
        return std::nullopt;
    Copies copies(1);
    {
        const Lock lock(LW_SHARED);
        const core::JobTable table = jobs_in_hand();
        const std::int32_t entry = table.find(MyDatabaseId, job_id);
        if (entry != core::no_entry && has_worker(table.at(entry)))
            copies.add(table.at(entry));
    }
    const std::vector<ExternalJob> jobs = copies.take();
    return jobs.empty() ? std::nullopt : std::optional(jobs.front());
}

bool is_with_worker(Oid database, std::int64_t job_id)
{
    if (!is_loaded())
        return false;
    const Lock lock(LW_SHARED);
    const core::JobTable table = jobs_in_hand();
    const std::int32_t entry = table.find(database, job_id);
    return entry != core::no_entry && has_worker(table.at(entry));
}

// ---- notes ----

void note_job_accepted(std::int64_t job_id, int attempt, pg::Time deadline)
{
    add({NoteKind::accepted, job_id, attempt, deadline, Leaving::returned, 0});
}

void note_job_extended(std::int64_t job_id, int attempt, pg::Time deadline)
{
    add({NoteKind::extended, job_id, attempt, deadline, Leaving::returned, 0});
}

void note_job_left(std::int64_t job_id, int attempt, Leaving leaving, std::int64_t run_time)
{
    add({NoteKind::left, job_id, attempt, pg::infinity, leaving, run_time});
}

void note_job_left_running(int queue_id, std::int64_t job_id, int attempt, const core::Load &load, pg::Time deadline)
{
    add({NoteKind::left_running, job_id, attempt, deadline, Leaving::returned, 0, queue_id, load});
}

void watch_external_jobs()
{
    ::RegisterXactCallback(hipq_external_transaction_ends, nullptr);
    ::RegisterSubXactCallback(hipq_external_subtransaction_ends, nullptr);
}

}  // namespace hipq::shmem
