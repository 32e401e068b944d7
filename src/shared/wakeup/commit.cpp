// At commit, records in the lanes which jobs the transaction made claimable, and wakes processes.
#include "shared/wakeup/commit.hpp"

#include "core/lanes/pockets.hpp"
#include "pg/clock.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/executors/executor_slots.hpp"
#include "shared/executors/own_executor.hpp"
#include "shared/memory/registry.hpp"
#include "shared/wakeup/completion_waiters.hpp"
#include "shared/wakeup/own_prepared.hpp"
#include "shared/wakeup/prepared.hpp"
#include "shared/wakeup/watched_jobs.hpp"

namespace hipq::wakeup {

namespace {

struct Note {
    Oid owner;
    pg::Time due;        // of the job that is due first
    pg::Time latest;     // of the job that is due last
    pg::Time expires;    // of the job that expires first
    std::int64_t count;  // of jobs
};

// What becomes claimable in one lane. The lane's place in shared memory is found in advance, when
// an error is still allowed.
struct LaneNote {
    lanes::LaneName name;
    lanes::LaneRef ref;
    core::KeyRange range;
};
using LaneNotes = std::vector<LaneNote>;

struct EndNote {
    std::int64_t job_id;
    End end;
    std::optional<std::int64_t> batch_id;     // that it belongs to
    std::optional<std::uint32_t> settled_at;  // new_waits() when it was settled
    std::vector<HeldLook> looks;
};
using EndNotes = std::vector<EndNote>;

// What the current transaction has noted.
struct Noted {
    std::size_t latest_lane = 0;

    // If one transaction has jobs of more queue owners than this, the scheduler handles the rest.
    static constexpr std::size_t max_notes = 8;
    std::array<Note, max_notes> notes{};
    std::size_t note_count = 0;
    bool scheduler_must_look = false;

    pg::Time due_for_worker = pg::infinity;  // of jobs for external workers
    pg::Time look_due = pg::infinity;        // when the scheduler must look, whatever is due

    bool catalogue_has_changed = false;
    bool shares_have_changed = false;
    bool is_told_of = false;  // other nodes must hear of this transaction
    bool restored = false;
    bool waits_are_unknown = false;
    bool has_aimed = false;
    bool lanes_are_lost = false;
    bool lane_is_missing = false;
    bool lacks_lanes = false;  // there was no room for another lane
    bool zone_has_changed = false;
    int resumed_queue = 0;  // a throttle key of this queue was resumed; 0: none
    bool rights_have_changed = false;
    Oid changed_database = InvalidOid;
};
constinit Noted noted{};
constinit LaneNotes *lane_notes = nullptr;  // these are on the heap, so that no destructor runs at
constinit EndNotes *end_notes = nullptr;    // exit

void forget()
{
    if (lane_notes != nullptr)
        lane_notes->clear();
    if (end_notes != nullptr)
        end_notes->clear();
    forget_own_watches();
    noted = Noted{};
}

// A commit that makes more jobs claimable leaves the rest to the scheduler.
constexpr std::int64_t most_served = 8;

// Finds an executor for each of a few jobs: this one itself, idle ones, or one that can be started.
// Returns for how many.
std::int64_t find_executors(Oid owner, std::int64_t jobs, pg::Time now)
{
    std::int64_t found = executors::leave_to_own_look(owner) ? 1 : 0;
    while (found < jobs && executors::wake_idle_executor(MyDatabaseId, owner))
        ++found;
    if (found < jobs && executors::request_executor(MyDatabaseId, owner, now))
        ++found;
    return found;
}

// If there is an executor for each job, no other process is needed. Otherwise the scheduler handles
// it.
void pass_on(const Note &note, pg::Time now)
{
    std::int64_t rest = note.count;
    if (note.due <= now)
        rest -= find_executors(note.owner, std::min(note.count, most_served), now);
    if (rest > 0 || note.latest > now)
        databases::look_due(MyDatabaseId, note.due);
    if (note.expires != pg::infinity)
        databases::look_due(MyDatabaseId, note.expires);
}

void pass_on_to_dispatch(pg::Time now)
{
    if (noted.due_for_worker <= now)
        databases::ask_for_dispatch(MyDatabaseId);
    else if (noted.due_for_worker != pg::infinity)
        databases::look_due(MyDatabaseId, noted.due_for_worker);
    if (noted.look_due != pg::infinity)
        databases::look_due(MyDatabaseId, noted.look_due);
}

// After a rollback, the lanes made for this transaction must not keep others from using their
// places. This makes them worth a look, and their next reader finds them empty.
void show_lanes()
{
    if (lane_notes != nullptr)
        for (const LaneNote &note : *lane_notes)
            lanes::show_lane(note.ref);
}

void pass_on_lane_notes()
{
    int missed_queue = 0;
    for (const LaneNote &note : *lane_notes)
        if (note.ref.is_known())
            noted.lanes_are_lost = !lanes::note_lane(note.ref, note.range) || noted.lanes_are_lost;
        else if (std::exchange(missed_queue, note.name.queue_id) != note.name.queue_id)
            lanes::search_lanes(MyDatabaseId, note.name.queue_id);
    noted.lane_is_missing = noted.lane_is_missing || missed_queue != 0;
}

// Runs before any process is woken. A job without a lane is no reason to read the lanes of others
// again.
void pass_on_lanes()
{
    if (lane_notes != nullptr)
        pass_on_lane_notes();
    if (noted.resumed_queue != 0) {
        lanes::read_lanes_again(MyDatabaseId, noted.resumed_queue);
        // A lane whose jobs were all passed over may have lost its place.
        lanes::search_lanes(MyDatabaseId, noted.resumed_queue);
        noted.lane_is_missing = true;
    }
    if (noted.lanes_are_lost)
        lanes::lose_lanes(MyDatabaseId);
    if (noted.zone_has_changed)
        lanes::look_again_at_lanes(MyDatabaseId);
}

// If a transaction ends more jobs than this, all processes that wait for the end of a job are
// notified.
constexpr std::size_t most_told_ends = 16;

void tell_waiting_processes()
{
    std::array<std::int64_t, most_told_ends> ids{};
    const bool are_many = end_notes->size() > ids.size();
    for (std::size_t i = 0; !are_many && i < end_notes->size(); ++i)
        ids[i] = (*end_notes)[i].job_id;
    tell_end_of(are_many ? std::span<const std::int64_t>()
                         : std::span<const std::int64_t>(ids).first(end_notes->size()));
}

// Counts the looks, so that others see that the job has ended.
bool is_settled(const EndNote &note)
{
    bool must_all_wait = true;
    for (const HeldLook &look : note.looks) {
        const std::uint32_t others = count_looks(look.job_id, look.ended) - look.number;
        must_all_wait = others < look.unfinished && must_all_wait;
    }
    return must_all_wait && note.settled_at == new_waits();
}

// A batch is reported in the place of its job: jobs come after batches by their id.
void report(const EndNote &note)
{
    const bool was_settled = is_settled(note);
    const bool matters = note.end == End::failure || is_watched(note.job_id);
    if (matters && !was_settled)
        report_end(note.job_id);
    if (matters && note.batch_id.has_value() && is_watched(*note.batch_id))
        report_end(*note.batch_id);
}

void pass_on_ends()
{
    if (end_notes == nullptr || end_notes->empty())
        return;
    if (are_ends_awaited())
        tell_waiting_processes();
    if (are_jobs_watched())
        std::ranges::for_each(*end_notes, report);
    end_notes->clear();
}

// Each process requests a look only once in a while, because one look of the scheduler covers
// everything done until then.
void pass_on_sign(pg::Time now)
{
    static constinit pg::Time last{0};
    if (now < last + sign_interval / 2 && now >= last)
        return;
    last = now;
    databases::look_due(MyDatabaseId, now + sign_interval);
}

void pass_on_all()
{
    const pg::Time now = pg::now();
    pass_on_lanes();
    if (noted.changed_database != InvalidOid)
        databases::database_changed(noted.changed_database);
    if (noted.rights_have_changed)
        databases::everybody_looks();
    if (noted.restored)
        databases::jobs_restored(MyDatabaseId);
    if (noted.waits_are_unknown || noted.restored || noted.lanes_are_lost)
        report_all_waits(MyDatabaseId);
    report_own_watches();
    if (noted.has_aimed || noted.lanes_are_lost || noted.restored)
        databases::jobs_aimed(MyDatabaseId);
    if (noted.catalogue_has_changed)
        databases::database_changed(MyDatabaseId);
    else if (noted.scheduler_must_look || noted.lanes_are_lost)
        databases::work_due(MyDatabaseId, pg::Time{0});
    else if (noted.lane_is_missing)
        databases::look_due(MyDatabaseId, pg::Time{0});
    if (noted.shares_have_changed)
        databases::shares_changed(MyDatabaseId);
    if (noted.is_told_of)
        pass_on_sign(now);
    for (std::size_t i = 0; i < noted.note_count; ++i)
        pass_on(noted.notes[i], now);
    pass_on_to_dispatch(now);
}

// Consecutive rows usually belong to the same lane, so check the last one first.
LaneNotes::iterator find_note(LaneNotes &notes_so_far, const lanes::LaneName &lane)
{
    if (noted.latest_lane < notes_so_far.size() && notes_so_far[noted.latest_lane].name == lane)
        return notes_so_far.begin() + static_cast<std::ptrdiff_t>(noted.latest_lane);
    const auto found = std::find_if(notes_so_far.begin(), notes_so_far.end(),
                                    [&](const LaneNote &note) { return note.name == lane; });
    noted.latest_lane = static_cast<std::size_t>(found - notes_so_far.begin());
    return found;
}

bool has_notes()
{
    return noted.note_count > 0 || noted.due_for_worker != pg::infinity ||
           noted.look_due != pg::infinity || noted.scheduler_must_look ||
           noted.catalogue_has_changed || noted.shares_have_changed || noted.is_told_of ||
           noted.rights_have_changed || noted.lanes_are_lost || noted.resumed_queue != 0 ||
           noted.changed_database != InvalidOid || noted.waits_are_unknown || has_own_watches() ||
           (end_notes != nullptr && !end_notes->empty()) ||
           (lane_notes != nullptr && !lane_notes->empty());
}

extern "C" void hipq_transaction_ends(XactEvent event, void *)
{
    if (event == XACT_EVENT_PRE_COMMIT && has_own_prepared_committed())
        note_unknown_jobs();
    if (event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
        return;
    if (event == XACT_EVENT_PREPARE && has_notes()) {
        remember_prepared(::GetTopTransactionIdIfAny());
        databases::note_prepared();
    }
    show_lanes();
    forget();
}

// PostgreSQL calls this for the transaction and for each resource owner below it; the first call
// does the work.
extern "C" void hipq_locks_released(ResourceReleasePhase phase, bool is_commit, bool is_top_level,
                                    void *)
{
    if (phase != RESOURCE_RELEASE_AFTER_LOCKS || !is_commit || !is_top_level)
        return;
    pass_on_ends();
    if (!has_notes())
        return;
    pass_on_all();
    forget();
}

}  // namespace

namespace {

// If there was no room for one lane of this transaction, no more lanes are made for it, because it
// may have very many.
lanes::LaneRef lane_for(const lanes::LaneName &lane, Oid owner)
{
    const lanes::LaneRef ref =
        noted.lacks_lanes ? lanes::find_lane(lane) : lanes::find_or_make_lane(lane, owner);
    noted.lacks_lanes = noted.lacks_lanes || !ref.is_known();
    return ref;
}

}  // namespace

void note_lane_key(const lanes::LaneName &lane, core::LaneKey key, Oid owner)
{
    if (!memory::is_loaded())
        return;
    if (lane_notes == nullptr)
        lane_notes = new LaneNotes();
    const auto note = find_note(*lane_notes, lane);
    if (note != lane_notes->end()) {
        note->range = core::hull(note->range, {key, key});
        return;
    }
    lane_notes->push_back({lane, lane_for(lane, owner), {key, key}});
}

void note_end(std::int64_t job_id, std::optional<std::int64_t> batch_id, End end)
{
    if (end_notes == nullptr)
        end_notes = new EndNotes();
    end_notes->push_back({job_id, end, batch_id, std::nullopt, {}});
}

void note_end_is_settled(std::int64_t job_id, std::uint32_t new_waits,
                         std::vector<HeldLook> looks) noexcept
{
    for (EndNote &note : *end_notes)
        if (note.job_id == job_id) {
            note.settled_at = new_waits;
            note.looks = std::move(looks);
            return;
        }
}

void note_unknown_waits() noexcept
{
    noted.waits_are_unknown = true;
}

void note_look() noexcept
{
    noted.scheduler_must_look = true;
}

void note_look_at(pg::Time due) noexcept
{
    noted.look_due = std::min(noted.look_due, due);
}

void note_unknown_jobs()
{
    noted.lanes_are_lost = true;
}

void note_resumed_key(int queue_id)
{
    noted.lanes_are_lost =
        noted.lanes_are_lost || (noted.resumed_queue != 0 && noted.resumed_queue != queue_id);
    noted.resumed_queue = queue_id;
}

void note_waiting(Oid owner, pg::Time due, pg::Time expires)
{
    for (std::size_t i = 0; i < noted.note_count; ++i) {
        if (noted.notes[i].owner != owner)
            continue;
        noted.notes[i].due = std::min(noted.notes[i].due, due);
        noted.notes[i].latest = std::max(noted.notes[i].latest, due);
        noted.notes[i].expires = std::min(noted.notes[i].expires, expires);
        ++noted.notes[i].count;
        return;
    }
    if (noted.note_count < Noted::max_notes)
        noted.notes[noted.note_count++] = Note{owner, due, due, expires, 1};
    else
        noted.scheduler_must_look = true;
}

void note_waiting_for_worker(pg::Time due, pg::Time expires)
{
    noted.due_for_worker = std::min(noted.due_for_worker, due);
    note_look_at(expires);
}

void note_aimed_job()
{
    noted.has_aimed = true;
}

void note_catalogue_change()
{
    noted.catalogue_has_changed = true;
}

void note_shares() noexcept
{
    noted.shares_have_changed = true;
}

void note_sign() noexcept
{
    noted.is_told_of = true;
}

void note_change_of_zone()
{
    noted.catalogue_has_changed = true;
    noted.zone_has_changed = true;
}

void note_restore()
{
    noted.catalogue_has_changed = true;
    noted.restored = true;
}

void note_change_of_rights()
{
    noted.rights_have_changed = true;
}

void note_change_of_database(Oid database)
{
    noted.changed_database =
        database;  // a transaction has one at most; a second one waits for the next reload
}

void watch_commits()
{
    ::RegisterXactCallback(hipq_transaction_ends, nullptr);
    ::RegisterResourceReleaseCallback(hipq_locks_released, nullptr);
}

}  // namespace hipq::wakeup
