// Reads lanes and claims jobs, for an executor or for external workers: the interface for other
// rooms.
#pragma once

#include "catalog/cache.hpp"
#include "claim/turns.hpp"
#include "core/lanes/lane.hpp"
#include "job/claimed_job.hpp"
#include "pg/spi.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/lanes/rates.hpp"
#include "shared/memory/registry.hpp"

#include <functional>

namespace hipq::claim {

// ---- audit ----

struct Audit {
    // A job that was not where claims look for it. It may only have been on its way.
    struct Doubt {
        int queue_id;
        core::LaneKey key;
    };
    pg::Time last{0};
    int queue_id = 0;           // the walk is in this queue,
    std::int64_t position = 0;  // after this id
    std::vector<Doubt> doubts{};
    std::set<std::pair<int, std::int64_t>> unreadable{};  // queue and id of each row that was
                                                          // reported
};

// Continues the walk, by audit_rate entries for each second since the last call, and looks again at
// the jobs that it doubted in the last call. Uses transactions of its own. Returns after how many
// microseconds to call it again; nothing: when the scheduler next has other work.
std::optional<std::int64_t> audit(Audit &audit, const catalog::Catalogue &catalogue, pg::Time now);

// ---- batch ----

// Jobs of one queue and type, in order, reserved for this process until another process takes them
// back.
struct Prefetched {
    int queue_id = 0;
    std::string job_type;
    std::size_t batch_size = 1;  // most jobs in one call of the handler
    std::vector<lanes::WaitingJob> jobs;
    std::size_t next = 0;
    pg::Time closes = pg::infinity;  // from then on some of the jobs may be outside their time
                                     // windows
    std::vector<std::string> paused_keys{};  // throttle keys whose jobs were passed over
    std::optional<std::int64_t> run_time{};  // of one job, in us; nothing: not known
    bool is_paused = false;  // what may start has changed since the batch was filled: all of it
                             // goes back into its lane

    bool is_empty() const { return next >= jobs.size(); }
    // How long the batch will take, in microseconds.
    std::int64_t work() const
    {
        return run_time.has_value() ? *run_time * static_cast<std::int64_t>(jobs.size())
                                    : core::prefetched_work;
    }
};

// Returns an empty batch for a type, which take_jobs() fills.
Prefetched batch_of(const catalog::Queue &queue, const catalog::JobType &type,
                    std::size_t batch_size);

// Rows that another session holds, for example by SELECT FOR UPDATE. A claimer passes over them and
// tries them again after a delay that doubles.
class HeldRows {
public:
    bool is_held(std::int64_t job_id, pg::Time now) const;
    pg::Time until(std::int64_t job_id) const;
    std::size_t size() const { return rows_.size(); }
    // Returns when to try the row again.
    pg::Time note(std::int64_t job_id, pg::Time now);
    void forget(std::int64_t job_id) { rows_.erase(job_id); }
    // Returns when to try the next of the rows; infinity: there is none. Forgets rows that were not
    // tried again for a minute after their time.
    pg::Time next_try(pg::Time now);

private:
    struct Held {
        pg::Time not_before;
        std::int64_t delay;
    };
    std::map<std::int64_t, Held> rows_;
};

// Takes jobs out of their lane: an executor, or a scheduler for external workers.
struct Claimer {
    Prefetched prefetched{};
    HeldRows held{};
    NewLeases leases{};
    std::vector<core::RateUse> keys_without_lease{};  // throttle keys that the last look found
    pg::Time next_turn = pg::infinity;  // of jobs that the last look left because of a rate or a
                                        // breaker
    pg::Time next_due = pg::infinity;   // when the jobs that the last look found but did not take
                                        // are due
};

// ---- claim jobs ----

// Jobs of the prefetched batch, in order. The span is valid until the batch is given back.
using Chosen = std::span<const lanes::WaitingJob>;

// Chooses the next jobs of the prefetched batch, at most `most`. Leaves out jobs that the scheduler
// has taken back.
Chosen choose(Claimer &claimer, std::size_t most);

// The result of each chosen job under the throttle limits. Once the queue or the type is full, the
// remaining jobs have no result.
struct Capacities {
    std::vector<core::Capacity> taken{};
    std::size_t asked_for = 0;

    bool has(std::size_t i) const { return i < taken.size() && taken[i] == core::Capacity::taken; }
    bool is_key_full(std::size_t i) const
    {
        return i < taken.size() && taken[i] == core::Capacity::key_full;
    }
    // No more jobs of this queue or type can be claimed.
    bool are_full() const;
    // The reason is a rate or a breaker. A look tells for how long (look_at_turn()).
    bool have_no_turn() const;
    bool have_all() const;
};

// Takes capacity for the chosen jobs of one queue and type. Needs a transaction.
struct WithCapacity {
    Capacities capacities;
    std::vector<job::DueJob> jobs;  // those that have it, in their order
};
WithCapacity take_capacity(const catalog::Queue &queue, const catalog::JobType &type,
                           Chosen chosen);

// Writes the claim of jobs that have capacity, by locking or updating their rows, at time `now`.
// Returns the jobs that could be claimed, in their order.
using WriteClaim =
    std::function<std::vector<job::ClaimedJob>(std::span<const job::DueJob> jobs, pg::Time now)>;

enum class ClaimOutcome : unsigned char {
    claimed,
    slot_has_left,   // a slot of the jobs has left this node, so no job of it may start here
    weight_changed,  // a row was changed after its weight was read
};

struct Claim {
    Capacities capacities;
    std::vector<job::ClaimedJob> jobs{};  // in the order of the chosen jobs
    ClaimOutcome outcome = ClaimOutcome::claimed;
};

// Takes capacity for the chosen jobs of one queue and type, and claims their rows. Needs a
// transaction, which the caller aborts unless the outcome is `claimed` and there are jobs.
Claim claim_chosen(const catalog::Queue &queue, const catalog::JobType &type, Chosen chosen,
                   const WriteClaim &write);

// The result of a claim if other processes held the rows of all jobs.
Claim none_claimed(std::size_t jobs);

// Returns the chosen jobs that were not claimed. A job without capacity goes back into its lane. A
// job whose row another process holds is tried again after a delay.
void settle(Claimer &claimer, Chosen chosen, const Capacities &capacities,
            std::span<const job::ClaimedJob> claimed);

// Returns one of the chosen jobs to its lane: there is no capacity for it, or no worker.
void put_back(Claimer &claimer, const Capacities &capacities, Chosen chosen, std::size_t i);

// Whether any of these claimed jobs belongs to a slot that has left this node in strict order since
// the catalogue of `queue` was read. Older jobs of the slot may already be on their way to the
// other node, so none may start here. The process that sends them locks their rows after the slot
// has left. So a claimer that passed over a locked row, and calls this after its claim, learns that
// the slot has left.
bool have_left(const catalog::Queue &queue, std::span<const job::ClaimedJob> jobs);

// Tells whether a job that was offered to a worker some time ago may start now: its queue, type and
// key may have been paused since, its time windows may have closed, its slot may have left, under a
// limit its weight may not be the one that is counted, a rate may be new, and its breaker may have
// changed. Needs a transaction.
bool may_still_start(const catalog::Queue &queue, const job::ClaimedJob &job,
                     const std::optional<core::Load> &counted, const core::Admission &admission,
                     pg::Time now);

// Keeps a job out of its lane until `again`.
void put_off_until(const lanes::WaitingJob &job, pg::Time again);

// Gives back the rest of the prefetched batch because the queue or the type is full.
void give_back_full(Claimer &claimer, bool any_claimed);

// Gives back the rest of the prefetched batch to its lane.
void give_back(Claimer &claimer);

// ---- start windows ----

// The period in which a job may start: the one around now, else the next one.
struct StartWindow {
    pg::Time from;                  // later than now: the job must wait until then
    pg::Time until;                 // infinity: the period does not end
    const char *problem = nullptr;  // why the windows cannot be evaluated; look again at `from`
    bool is_open(pg::Time now) const { return from <= now; }
};

// Returns the start window of a job with these time windows, in the text form of its row; the zone
// is that of its type. The result is cached until it changes.
StartWindow start_window(std::string_view windows, const std::string &zone, pg::Time now);

// Returns the zone for the time windows of a type's jobs. Needs a transaction.
std::string time_zone_of(int queue_id, std::string_view job_type);

// The time windows met in one look at a lane: of jobs of one type, at one moment.
class StartWindows {
public:
    StartWindows(int queue_id, std::string_view job_type, pg::Time now)
        : queue_id_(queue_id), job_type_(job_type), now_(now)
    {
    }

    // Returns when jobs with these windows may start; not later than now: they may start now. Needs
    // a transaction.
    pg::Time opens(std::string_view windows);

    // The latest results of opens(), so that a scan inside pg::call() can use them.
    struct Known {
        std::string windows;
        pg::Time opens;
    };
    std::span<const Known> known() const { return known_; }

    // Over all windows passed to opens(): when the first of the open ones closes, and when the
    // first of the others opens.
    pg::Time first_closing() const { return first_closing_; }
    pg::Time first_opening() const { return first_opening_; }

private:
    int queue_id_;
    std::string job_type_;
    pg::Time now_;
    std::optional<std::string> zone_{};
    std::vector<Known> known_{};
    std::size_t next_place_ = 0;
    pg::Time first_closing_ = pg::infinity;
    pg::Time first_opening_ = pg::infinity;
};

// ---- claim rows ----

// The first waiting job of a lane (queue, job type, priority).
struct LaneHead {
    std::string job_type;
    int priority;
    pg::Time due;  // its scheduled_run_time
    std::int64_t id;
};

// A lane's position in the order of job types and priorities. By default: before the first lane.
struct LanePlace {
    std::string job_type;
    int priority = std::numeric_limits<std::int16_t>::min();
    bool operator==(const LanePlace &) const = default;
};

// Returns the heads of the lanes of a queue, due or not, in the order of job types and priorities.
// Passes over expired jobs. Needs a transaction.
std::vector<LaneHead> lane_heads(const catalog::Queue &queue, pg::Time now);
// The same for at most `most` lanes after `after`. Sets `after` to the last of these lanes, or, if
// there are no more lanes, back to before the first.
std::vector<LaneHead> lane_heads(const catalog::Queue &queue, pg::Time now, LanePlace &after,
                                 int most);

// Returns when the first waiting jobs of a lane from a key on are due, at most `limit` times, in
// order. Passes over expired jobs. Needs a transaction.
std::vector<pg::Time> first_due_times(const catalog::Queue &queue, std::string_view job_type,
                                      int priority, core::LaneKey from, pg::Time now, int limit);

// Lower number first, then the earlier time, then the lower id.
bool runs_before(const LaneHead &left, const LaneHead &right);

// Returns whether a job of this weight has capacity under the throttle key with this hash.
using HasKeyCapacity = std::function<bool(core::Weight weight, std::uint64_t key)>;
inline bool any_key_has_capacity(core::Weight, std::uint64_t)
{
    return true;
}

// Returns the first due jobs of a lane that are inside their time windows and whose throttle keys
// are not paused and have capacity, at most `limit`, in order, with their weights. Calls
// `has_key_capacity` once for each of them, in order, and for jobs that it refuses. Does not check
// whether another process has them in flight. Needs a transaction.
std::vector<job::DueJob> due_jobs(const catalog::Queue &queue, const LaneHead &lane, pg::Time now,
                                  std::size_t limit, StartWindows &windows,
                                  const std::vector<std::string> &paused_keys,
                                  const HasKeyCapacity &has_key_capacity = any_key_has_capacity);

// These claim the jobs that are still due and that no other process holds, in their order, and
// leave out the others. Both need a transaction.
//
// claim_by_record() writes state running, attempt + 1 and the deadline, durable when the
// transaction commits.
std::vector<job::ClaimedJob> claim_by_record(const catalog::Queue &queue,
                                             std::span<const job::DueJob> waiting, pg::Time now);

// claim_by_lock() locks the rows until the transaction ends. The result looks as if the claim had
// been recorded.
std::vector<job::ClaimedJob> claim_by_lock(const catalog::Queue &queue,
                                           std::span<const job::DueJob> waiting, pg::Time now);
// The same by a statement in any case, so that it sees what the transaction's snapshot shows.
std::vector<job::ClaimedJob> lock_by_sql(const catalog::Queue &queue,
                                         const std::vector<std::int64_t> &ids, pg::Time now);

// Returns a job as its next attempt would find it, due or not, for a trial that is rolled back.
// Locks a waiting job; leaves a final job as it is. Nothing: the job is neither waiting nor final,
// or another process holds its row. Needs a transaction.
std::optional<job::ClaimedJob> claim_for_trial(const catalog::Queue &queue, std::int64_t id,
                                               pg::Time now);

// ---- lane search ----

// A scheduler's search for lanes. A queue may have very many lanes for which shared memory has no
// room: each look reads some of them, and the next look continues.
class LaneSearch {
public:
    // Checks whether the lanes of all queues must be searched. Call it before the catalogue is
    // read: queues newer than the catalogue are not part of this search.
    void begin_look();
    // Notes which queues must be searched in any case.
    void note_crowded();
    // Whether this look searches the lanes of all queues.
    bool concerns_all() const { return losses_.has_value(); }
    // Whether this look searches the lanes of the queue.
    bool concerns(int queue_id) const;
    // Returns the next lanes of a queue that this look searches. Needs a transaction.
    std::vector<LaneHead> next_heads(const catalog::Queue &queue, pg::Time now);
    // Shared memory has no room for one of the lanes that next_heads() returned.
    void note_missing(int queue_id) { searches_[queue_id].is_missing = true; }
    // Call when all lanes that next_heads() returned are looked at. Returns whether the search must
    // continue soon.
    bool end_heads(int queue_id);
    // The tables of the queue could not be read: if this look was to search them, the next look
    // does.
    void note_unsearched(int queue_id) const;
    void end_look();

private:
    struct Search {
        LanePlace after;          // before the first lane: the search is complete
        unsigned misses = 0;      // of the queue, when the search began
        bool is_missing = false;  // there is no room for a lane found so far
        bool is_long = false;     // one look does not read all lanes
    };
    unsigned misses_of(int queue_id) const;

    std::optional<unsigned> losses_;
    std::vector<memory::CrowdedQueue> crowded_;
    std::map<int, Search> searches_;  // by queue
};

// ---- lane starts ----

struct LaneStart {
    std::string job_type;
    int priority;
    pg::Time first;  // no job of the lane is due before this time
};

// Returns the first index entry of each lane, whether its row waits, runs or is deleted. Reads only
// the index, in about 10 us per lane. Nothing: the live leaf has no such index, or another session
// has locked it. Raises the error of a table whose file cannot be opened. Needs a transaction.
std::optional<std::vector<LaneStart>> lane_starts(const catalog::Queue &queue);

// ---- take jobs ----

// Waiting jobs of one queue, type and priority, the first of which may be due.
struct Lane {
    const catalog::Queue *queue;
    LaneHead head;
    lanes::LaneRef ref;                        // unknown: shared memory has no room for the lane
    Oid leaf;                                  // of the lane
    core::LaneKey not_after = core::lane_end;  // if the lane's first job comes after this key, jobs
                                               // of other lanes come first, and none of the lane's
                                               // jobs is taken
};

// Returns the due lanes, in no order, of the queues that this process may work on and that are not
// paused. Also returns when the next of the other lanes is due, counting only lanes made for the
// queue owner `owner` (InvalidOid: all lanes), paused or not. Calls `may_use` once for each queue
// with a due lane. Needs a transaction. Costs nothing for queues in which no job is due.
struct DueLanes {
    std::vector<Lane> lanes;
    pg::Time next;
    std::size_t left_out;  // due lanes outside the window, including those of queues that this
                           // process may not work on
};
using MayUse = std::function<bool(const catalog::Queue &)>;
DueLanes due_lanes(const catalog::Catalogue &catalogue, Oid owner, const MayUse &may_use,
                   pg::Time now, lanes::LaneWindow *window = nullptr);

// Takes up to `most` due jobs into the empty prefetched batch, and reserves them in shared memory.
// Needs a transaction. False: other processes have all due jobs, or read the lane.
[[nodiscard]] bool take_jobs(Claimer &claimer, const Lane &lane, pg::Time now, std::size_t most);

// The same for these jobs, which are in no lane or were found without it.
[[nodiscard]] bool take_these(Claimer &claimer, const Lane &lane, std::span<const job::DueJob> due,
                              pg::Time now, std::size_t most);

// ---- weight ----

// The weight of a claimed job, as its row has it now.
core::Load load_of(const job::ClaimedJob &job);

}  // namespace hipq::claim
