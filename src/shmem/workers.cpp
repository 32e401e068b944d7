// A hash table of workers under one lock, and what the current transaction is to do to it when it commits.
//
// A transaction changes nothing that others see before it has committed: what it registers has a place already, because that is
// where an error is still allowed, but is nobody else's to see; the rest are notes. All callbacks run at the end of a
// (sub)transaction or process: they allocate nothing and cannot fail.
#include "workers.hpp"

#include "pg/clock.hpp"
#include "settings.hpp"
#include "shmem/alerts.hpp"
#include "shmem/databases.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace hipq::shmem {

namespace {

constexpr std::int32_t no_worker = -1;

// Databases of which all workers are known. One more than fit is read again and again, which costs a statement each time.
constexpr std::size_t max_recalled = 256;

struct WorkerTable {
    std::int32_t capacity;
    std::int32_t used;      // places that were ever in use: the first ones
    std::uint64_t choices;  // so far
    std::uint64_t changes;  // workers that came or went for good
    Oid recalled[max_recalled];
    WorkerSlot slots[FLEXIBLE_ARRAY_MEMBER];  // then the buckets, as many
};

constinit WorkerTable *table = nullptr;
constinit LWLock *lock_of_table = nullptr;

constexpr const char *tranche = "hipq workers";

class WorkerLock {
public:
    explicit WorkerLock(LWLockMode mode) { ::LWLockAcquire(lock_of_table, mode); }
    ~WorkerLock() { ::LWLockRelease(lock_of_table); }
    WorkerLock(const WorkerLock &) = delete;
    WorkerLock &operator=(const WorkerLock &) = delete;
};

Size table_size()
{
    const Size per_worker = sizeof(WorkerSlot) + sizeof(std::int32_t);
    return ::add_size(offsetof(WorkerTable, slots), ::mul_size(per_worker, static_cast<Size>(settings::max_workers)));
}

// ---- the hash table; all of it needs the lock ----

std::span<WorkerSlot> slots()
{
    return {table->slots, static_cast<std::size_t>(table->used)};
}

std::int32_t &bucket_of(Oid database, std::int64_t id)
{
    auto *buckets = reinterpret_cast<std::int32_t *>(table->slots + table->capacity);
    const std::uint32_t hash = ::hash_combine(::murmurhash32(static_cast<std::uint32_t>(id)), ::murmurhash32(database));
    return buckets[hash % static_cast<std::uint32_t>(table->capacity)];
}

WorkerSlot *find_slot(Oid database, std::int64_t id)
{
    for (std::int32_t i = bucket_of(database, id); i != no_worker; i = table->slots[i].next)
        if (table->slots[i].id == id && table->slots[i].database == database)
            return &table->slots[i];
    return nullptr;
}

WorkerSlot *find_slot(const WorkerRef &worker)
{
    WorkerSlot &probably = table->slots[worker.place];
    const bool is_it = probably.id == worker.id && probably.database == MyDatabaseId;
    return is_it ? &probably : find_slot(MyDatabaseId, worker.id);
}

// Null: all places are taken.
WorkerSlot *free_slot()
{
    for (WorkerSlot &slot : slots())
        if (slot.state == WorkerState::free)
            return &slot;
    return table->used < table->capacity ? &table->slots[table->used++] : nullptr;
}

void free_place(WorkerSlot &slot)
{
    std::int32_t *link = &bucket_of(slot.database, slot.id);
    const auto index = static_cast<std::int32_t>(&slot - table->slots);
    while (*link != index)
        link = &table->slots[*link].next;
    *link = slot.next;
    const std::uint32_t generation = slot.generation + 1;
    slot = WorkerSlot{};
    slot.generation = generation;
    slot.process = no_process;
}

bool add(const NewWorker &worker, WorkerState state, pg::Time now)
{
    WorkerSlot *slot = free_slot();
    if (slot == nullptr)
        return false;
    const std::uint32_t generation = slot->generation;
    *slot = WorkerSlot{};
    slot->generation = generation;
    slot->id = worker.id;
    slot->database = MyDatabaseId;
    slot->role = worker.role;
    slot->state = state;
    slot->is_draining = worker.is_draining;
    slot->process = no_process;
    slot->capacity = worker.capacity;
    slot->prefetch = worker.prefetch;
    slot->registered = now;
    slot->heartbeat = never;
    slot->last_probe = never;
    slot->ended = pg::infinity;
    slot->record.last_sign = now.value;
    slot->record.report = worker.report;
    ::strlcpy(slot->name, worker.name.c_str(), sizeof(slot->name));
    std::int32_t &bucket = bucket_of(slot->database, slot->id);
    slot->next = bucket;
    bucket = static_cast<std::int32_t>(slot - table->slots);
    return true;
}

bool has_jobs(const WorkerSlot &slot)
{
    return slot.record.depth > 0 || slot.running > 0;
}

void end_worker(WorkerSlot &slot, pg::Time now)
{
    slot.state = WorkerState::ended;
    slot.ended = now;
    slot.pid = 0;
    slot.process = no_process;
    slot.record.is_bound = false;
    slot.record.is_gone = true;
}

// A worker that is there, to change what is known of it. Null if it is not.
WorkerSlot *find_present(std::int64_t id)
{
    WorkerSlot *slot = find_slot(MyDatabaseId, id);
    const bool is_there = slot != nullptr && (slot->state == WorkerState::present || slot->state == WorkerState::ended);
    return is_there ? slot : nullptr;
}

template <class Change>
bool change(std::int64_t id, const Change &change_slot) noexcept
{
    if (!is_loaded())
        return false;
    const WorkerLock lock(LW_EXCLUSIVE);
    WorkerSlot *slot = find_present(id);
    if (slot != nullptr)
        change_slot(*slot);
    return slot != nullptr;
}

void note_sign_of_life(WorkerSlot &slot, pg::Time now)
{
    slot.heartbeat = now;
    slot.record.last_sign = now.value;
    slot.record.was_heard = true;
}

void take_one(int &count)
{
    count = std::max(count - 1, 0);
}

// ---- the transaction ----

enum class NoteKind : unsigned char { registered, bound, departed, draining, stopped_listening };

struct Note {
    NoteKind kind;
    std::int64_t id;
    SubTransactionId subtransaction;
};

using Notes = std::vector<Note>;
constinit Notes *notes = nullptr;  // on the heap: no destructor at exit
constinit bool watches_exit = false;

bool has_notes()
{
    return notes != nullptr && !notes->empty();
}

void add_note(NoteKind kind, std::int64_t id)
{
    if (notes == nullptr)
        notes = new Notes();
    notes->push_back({kind, id, ::GetCurrentSubTransactionId()});
}

// Needs the lock.
void end_own(pg::Time now)
{
    for (WorkerSlot &slot : slots())
        if (slot.state == WorkerState::present && slot.process == MyProc->pgprocno)
            end_worker(slot, now);
}

void make_present(WorkerSlot &slot, bool is_bound)
{
    slot.state = WorkerState::present;
    slot.record.is_bound = is_bound;
    if (!is_bound) {
        slot.pid = 0;
        slot.process = no_process;
    }
}

// Needs the lock.
void carry_out(const Note &note, pg::Time now)
{
    if (note.kind == NoteKind::stopped_listening)
        end_own(now);
    WorkerSlot *slot = find_slot(MyDatabaseId, note.id);
    if (slot == nullptr)
        return;
    if (note.kind == NoteKind::registered || note.kind == NoteKind::bound)
        make_present(*slot, note.kind == NoteKind::bound);
    else if (note.kind == NoteKind::draining)
        slot->is_draining = true;
    else if (note.kind == NoteKind::departed && !has_jobs(*slot))
        free_place(*slot);
    else if (note.kind == NoteKind::departed)
        end_worker(*slot, now);
}

// Needs the lock.
void undo(const Note &note)
{
    if (note.kind != NoteKind::registered && note.kind != NoteKind::bound)
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
    {
        const WorkerLock lock(LW_EXCLUSIVE);
        for (const Note &note : *notes)
            if (commits)
                carry_out(note, now);
            else
                undo(note);
        table->changes += commits ? 1 : 0;
    }
    notes->clear();
}

extern "C" void hipq_workers_subtransaction_ends(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *)
{
    if (!has_notes() || (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB))
        return;
    const WorkerLock lock(LW_EXCLUSIVE);
    for (std::size_t i = notes->size(); i > 0; --i) {
        Note &note = (*notes)[i - 1];
        if (note.subtransaction != id)
            continue;
        if (event == SUBXACT_EVENT_COMMIT_SUB) {
            note.subtransaction = parent;
        } else {
            undo(note);
            notes->erase(notes->begin() + static_cast<std::ptrdiff_t>(i - 1));
        }
    }
}

extern "C" void hipq_worker_session_exits(int, Datum)
{
    end_own_workers();
}

void watch_own_exit()
{
    if (!std::exchange(watches_exit, true))
        pg::call([] { ::on_shmem_exit(hipq_worker_session_exits, Datum{0}); });
}

// ---- looking ----

std::size_t places_in_use()
{
    const WorkerLock lock(LW_SHARED);
    return slots().size();
}

bool is_visible(const WorkerSlot &slot)
{
    const bool is_own = slot.state == WorkerState::registering && slot.process == MyProc->pgprocno;
    return is_own || slot.state == WorkerState::present || slot.state == WorkerState::ended;
}

}  // namespace

core::HealthLimits health_limits()
{
    core::HealthLimits limits;
    limits.enabled = settings::health_enabled;
    limits.heartbeat_timeout = std::int64_t{settings::heartbeat_timeout} * 1'000;
    limits.probe_interval = std::int64_t{settings::probe_interval} * 1'000;
    limits.degraded_failures = settings::degraded_failures;
    limits.unhealthy_failures = settings::unhealthy_failures;
    limits.degraded_depth = settings::degraded_depth;
    limits.unhealthy_depth = settings::unhealthy_depth;
    limits.degraded_failure_rate = settings::degraded_failure_rate;
    limits.unhealthy_failure_rate = settings::unhealthy_failure_rate;
    return limits;
}

bool register_worker(const NewWorker &worker)
{
    if (worker.is_bound)
        watch_own_exit();
    add_note(worker.is_bound ? NoteKind::bound : NoteKind::registered, worker.id);
    const pg::Time now = pg::now();
    const WorkerLock lock(LW_EXCLUSIVE);
    if (!add(worker, WorkerState::registering, now))
        return false;
    WorkerSlot *slot = find_slot(MyDatabaseId, worker.id);
    slot->process = MyProc->pgprocno;
    slot->pid = MyProcPid;
    return true;
}

void note_departure(std::int64_t id)
{
    add_note(NoteKind::departed, id);
}

void note_draining(std::int64_t id)
{
    add_note(NoteKind::draining, id);
}

void note_end_of_listening()
{
    add_note(NoteKind::stopped_listening, 0);
}

bool recall_worker(const NewWorker &worker)
{
    const pg::Time now = pg::now();
    bool has_room = true;
    {
        const WorkerLock lock(LW_EXCLUSIVE);
        if (find_slot(MyDatabaseId, worker.id) != nullptr)
            return true;
        has_room = add(worker, WorkerState::present, now);
        if (has_room && worker.is_bound)
            end_worker(*find_slot(MyDatabaseId, worker.id), now);
    }
    if (!has_room)
        raise_alert(Alert::workers_full);
    return has_room;
}

bool are_recalled()
{
    const WorkerLock lock(LW_SHARED);
    return std::find(std::begin(table->recalled), std::end(table->recalled), MyDatabaseId) != std::end(table->recalled);
}

std::uint64_t worker_changes()
{
    const WorkerLock lock(LW_SHARED);
    return table->changes;
}

bool workers_recalled(std::uint64_t changes)
{
    const WorkerLock lock(LW_EXCLUSIVE);
    if (table->changes != changes)
        return false;
    Oid *place = std::find(std::begin(table->recalled), std::end(table->recalled), InvalidOid);
    if (place != std::end(table->recalled))
        *place = MyDatabaseId;
    return true;
}

void remove_worker(std::int64_t id) noexcept
{
    const WorkerLock lock(LW_EXCLUSIVE);
    WorkerSlot *slot = find_present(id);
    if (slot != nullptr)
        free_place(*slot);
}

void end_own_workers() noexcept
{
    if (!watches_exit || !is_loaded())
        return;
    const pg::Time now = pg::now();
    bool ended = false;
    {
        const WorkerLock lock(LW_EXCLUSIVE);
        ended = std::any_of(slots().begin(), slots().end(), [](const WorkerSlot &slot) {
            return slot.state == WorkerState::present && slot.process == MyProc->pgprocno;
        });
        end_own(now);
    }
    if (ended)
        work_due(MyDatabaseId, now + std::int64_t{settings::worker_grace} * 1'000);
}

bool has_own_workers()
{
    if (!watches_exit || !is_loaded())
        return false;
    const WorkerLock lock(LW_SHARED);
    return std::any_of(slots().begin(), slots().end(), [](const WorkerSlot &slot) {
        return slot.state != WorkerState::free && slot.process == MyProc->pgprocno;
    });
}

void forget_workers(Oid database) noexcept
{
    const WorkerLock lock(LW_EXCLUSIVE);
    for (WorkerSlot &slot : slots())
        if (slot.state != WorkerState::free && slot.database == database)
            free_place(slot);
    std::replace(std::begin(table->recalled), std::end(table->recalled), database, InvalidOid);
    ++table->changes;
}

// ---- dispatch ----

void note_dispatched(std::int64_t id) noexcept
{
    const core::HealthLimits limits = health_limits();
    const pg::Time now = pg::now();
    change(id, [&](WorkerSlot &slot) {
        if (candidate_of(slot, limits, now).may_be_probed) {
            slot.is_probed = true;
            slot.last_probe = now;
        }
        ++slot.record.depth;
        slot.last_chosen = ++table->choices;
    });
}

void note_accepted(std::int64_t id) noexcept
{
    const pg::Time now = pg::now();
    change(id, [&](WorkerSlot &slot) {
        take_one(slot.record.depth);
        ++slot.running;
        note_sign_of_life(slot, now);
    });
}

void note_taken(std::int64_t id) noexcept
{
    const pg::Time now = pg::now();
    change(id, [&](WorkerSlot &slot) {
        ++slot.running;
        slot.last_chosen = ++table->choices;
        note_sign_of_life(slot, now);
    });
}

void note_finished(std::int64_t id, bool succeeded, std::int64_t run_time) noexcept
{
    change(id, [&](WorkerSlot &slot) {
        take_one(slot.running);
        core::note_execution(slot.record, succeeded, run_time, std::exchange(slot.is_probed, false));
    });
}

void note_expired(std::int64_t id) noexcept
{
    change(id, [](WorkerSlot &slot) {
        take_one(slot.record.depth);
        slot.is_probed = false;
        core::note_expiry(slot.record);
    });
}

void note_returned(std::int64_t id, Holding holding) noexcept
{
    change(id, [&](WorkerSlot &slot) { take_one(holding == Holding::dispatched ? slot.record.depth : slot.running); });
}

void note_in_hand(std::int64_t id, int dispatched, int accepted) noexcept
{
    change(id, [&](WorkerSlot &slot) {
        slot.record.depth = dispatched;
        slot.running = accepted;
    });
}

bool note_heartbeat(std::int64_t id, const core::SelfReport *report) noexcept
{
    const pg::Time now = pg::now();
    return change(id, [&](WorkerSlot &slot) {
        note_sign_of_life(slot, now);
        if (report != nullptr)
            slot.record.report = *report;
    });
}

// ---- looking ----

std::optional<WorkerSlot> find_worker(std::int64_t id)
{
    if (!is_loaded())
        return std::nullopt;
    const WorkerLock lock(LW_SHARED);
    const WorkerSlot *slot = find_slot(MyDatabaseId, id);
    return slot != nullptr && is_visible(*slot) ? std::optional(*slot) : std::nullopt;
}

std::vector<WorkerSlot> list_workers()
{
    std::vector<WorkerSlot> result;
    if (!is_loaded())
        return result;
    result.resize(places_in_use());  // before the lock: allocation
    std::size_t count = 0;
    {
        const WorkerLock lock(LW_SHARED);
        for (const WorkerSlot &slot : slots())
            if (count < result.size() && slot.database == MyDatabaseId && is_visible(slot))
                result[count++] = slot;
    }
    result.resize(count);
    return result;
}

core::Candidate candidate_of(const WorkerSlot &slot, const core::HealthLimits &limits, pg::Time now)
{
    const core::Health health = core::judge(slot.record, limits, now.value);
    return {slot.id,
            slot.last_chosen,
            slot.record.depth,
            slot.running,
            slot.capacity,
            slot.prefetch,
            health,
            core::may_be_probed(slot.record, health, limits, slot.last_probe.value, now.value),
            slot.is_draining};
}

WorkerRef reference_to_worker(std::int64_t id)
{
    if (!is_loaded())
        return {id, 0};
    const WorkerLock lock(LW_SHARED);
    const WorkerSlot *slot = find_slot(MyDatabaseId, id);
    return {id, slot == nullptr ? 0 : static_cast<std::int32_t>(slot - table->slots)};
}

ChosenWorker choose_worker(std::span<const WorkerRef> workers, std::int64_t avoided)
{
    ChosenWorker chosen{std::nullopt, 0};
    if (!is_loaded())
        return chosen;
    const core::HealthLimits limits = health_limits();
    const pg::Time now = pg::now();
    core::WorkerChoice choice(avoided);
    const WorkerLock lock(LW_SHARED);
    for (const WorkerRef &worker : workers) {
        const WorkerSlot *slot = find_slot(worker);
        if (slot == nullptr || slot->state != WorkerState::present)
            continue;
        choice.consider(candidate_of(*slot, limits, now));
        ++chosen.present;
    }
    chosen.id = choice.best();
    return chosen;
}

bool has_workers_here()
{
    if (!is_loaded())
        return false;
    const WorkerLock lock(LW_SHARED);
    return std::any_of(slots().begin(), slots().end(),
                       [](const WorkerSlot &slot) { return slot.state != WorkerState::free && slot.database == MyDatabaseId; });
}

// ---- set-up ----

void request_workers()
{
    ::RequestAddinShmemSpace(table_size());
    ::RequestNamedLWLockTranche(tranche, 1);
}

void set_up_workers()
{
    bool found = false;
    table = static_cast<WorkerTable *>(::ShmemInitStruct("hipq workers", table_size(), &found));
    lock_of_table = &::GetNamedLWLockTranche(tranche)->lock;
    if (found)
        return;
    std::memset(static_cast<void *>(table), 0, table_size());
    table->capacity = settings::max_workers;
    for (std::int32_t i = 0; i < table->capacity; ++i)
        table->slots[i].process = no_process;
    std::fill_n(reinterpret_cast<std::int32_t *>(table->slots + table->capacity), table->capacity, no_worker);
}

void watch_workers()
{
    ::RegisterXactCallback(hipq_workers_transaction_ends, nullptr);
    ::RegisterSubXactCallback(hipq_workers_subtransaction_ends, nullptr);
}

}  // namespace hipq::shmem
