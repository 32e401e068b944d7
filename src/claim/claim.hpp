// Reading lanes and claiming jobs: for an executor or for an external worker. What other rooms may
// use.
#pragma once

#include "catalog/cache.hpp"
#include "core/lanes/lane.hpp"
#include "job/claimed_job.hpp"
#include "pg/spi.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/registry.hpp"

#include <functional>

namespace hipq::claim {

// ---- audit ----

struct Audit {
    // A job that was not where it should be: it may have been on its way.
    struct Doubt {
        int queue_id;
        core::LaneKey key;
    };
    pg::Time last{0};
    int queue_id = 0;           // the walk is in this queue,
    std::int64_t position = 0;  // after this id
    std::vector<Doubt> doubts{};
    std::set<std::pair<int, std::int64_t>> unreadable{};  // queues and ids, that were told
};

// Goes on with the walk, audit_rate entries for each second since the last call, and looks
// again at what it doubted then. Own transaction. Returns after how many microseconds it has to be
// called again; nothing: when somebody has worked.
std::optional<std::int64_t> audit(Audit &audit, const catalog::Catalogue &catalogue, pg::Time now);

// ---- batch ----

// Jobs of one queue and type, in order, reserved for this process until somebody takes them back.
struct Prefetched {
    int queue_id = 0;
    std::string job_type;
    std::size_t batch_size = 1;  // most jobs in one call
    std::vector<lanes::WaitingJob> jobs;
    std::size_t next = 0;
    pg::Time closes = pg::infinity;  // from then on some of them may be outside their time windows
    std::vector<std::string> paused_keys{};  // throttle keys that were passed over
    std::optional<std::int64_t> run_time{};  // us; of a job, as far as it is known
    bool is_paused =
        false;  // what may be started has changed since: all of it belongs back into its lane

    bool is_empty() const { return next >= jobs.size(); }
    // How long it will take, in microseconds.
    std::int64_t work() const
    {
        return run_time.has_value() ? *run_time * static_cast<std::int64_t>(jobs.size())
                                    : core::prefetched_work;
    }
};

// An empty batch of a type, to be filled by take_jobs().
Prefetched batch_of(const catalog::Queue &queue, const catalog::JobType &type,
                    std::size_t batch_size);

// Rows that somebody else holds, as a session does with SELECT FOR UPDATE: tried again after a
// while that doubles, and passed over meanwhile.
class HeldRows {
public:
    bool is_held(std::int64_t job_id, pg::Time now) const;
    pg::Time until(std::int64_t job_id) const;
    std::size_t size() const { return rows_.size(); }
    // Returns when it is to be tried again.
    pg::Time note(std::int64_t job_id, pg::Time now);
    void forget(std::int64_t job_id) { rows_.erase(job_id); }
    // When the next of them is to be tried; infinity without any. Forgets those that nobody has
    // asked for in a minute.
    pg::Time next_try(pg::Time now);

private:
    struct Held {
        pg::Time not_before;
        std::int64_t delay;
    };
    std::map<std::int64_t, Held> rows_;
};

// Who takes jobs out of their lane: an executor, or a scheduler for external workers.
struct Claimer {
    Prefetched prefetched{};
    HeldRows held{};
    pg::Time next_due = pg::infinity;  // what the last look found beside what it took is due then
};

// ---- claim jobs ----

// Jobs of the prefetched batch, in order. The span is valid until the batch is given back.
using Chosen = std::span<const lanes::WaitingJob>;

// Chooses the next jobs of the prefetched batch, at most `most`. Leaves out those that the
// scheduler has taken back.
Chosen choose(Claimer &claimer, std::size_t most);

// What each of the chosen jobs got under the throttle limits. When the queue or the type is full,
// the jobs behind are not asked about.
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
    bool have_all() const;
};

// Writes the claim of jobs that have capacity, by locking or updating their rows, at time `now`.
struct Written {
    std::vector<job::ClaimedJob> jobs;  // those that could be claimed, in their order
    std::size_t tried;  // of the jobs, the first ones: no worker is free for the rest
};
using WriteClaim = std::function<Written(std::span<const job::DueJob> jobs, pg::Time now)>;

enum class ClaimOutcome : unsigned char {
    claimed,
    slot_has_left,   // a slot of the jobs has left this node: none may start here
    weight_changed,  // a row was changed since its weight was read
};

struct Claim {
    Capacities capacities;
    std::vector<job::ClaimedJob> jobs{};  // in the order of the chosen ones
    std::size_t tried = 0;                // of the jobs that have capacity
    ClaimOutcome outcome = ClaimOutcome::claimed;
};

// Takes capacity for the chosen jobs of one queue and type, and claims their rows. Needs a
// transaction, which the caller aborts unless the outcome is `claimed` and there are jobs.
Claim claim_chosen(const catalog::Queue &queue, const catalog::JobType &type, Chosen chosen,
                   const WriteClaim &write);

// As if other processes held the rows of all jobs.
Claim none_claimed(std::size_t jobs);

// Returns the chosen jobs that are not among the claimed ones. A job without capacity goes back
// into its lane; one whose row another process holds is tried again after a delay.
void settle(Claimer &claimer, Chosen chosen, const Claim &claim,
            std::span<const job::ClaimedJob> claimed);

// Keeps a job out of its lane until `again`.
void put_off_until(const lanes::WaitingJob &job, pg::Time again);

// Gives back the rest of the prefetched batch because the queue or the type is full.
void give_back_full(Claimer &claimer, bool any_claimed);

// Gives back the rest of the prefetched batch to its lane.
void give_back(Claimer &claimer);

// ---- start windows ----

// The stretch of time in which a job may start that lies around now, or the next one.
struct StartWindow {
    pg::Time from;                  // later than now: not before
    pg::Time until;                 // infinity: it does not end
    const char *problem = nullptr;  // why nobody can tell; it is worth another look at `from`
    bool is_open(pg::Time now) const { return from <= now; }
};

// Of a job with these time windows, as its row has them; the zone is its type's. What they say is
// kept in mind until it changes.
StartWindow start_window(std::string_view windows, const std::string &zone, pg::Time now);

// The zone in which the time windows of jobs of a type are read. Needs a transaction.
std::string time_zone_of(int queue_id, std::string_view job_type);

// The time windows that one look at the lane meets: of jobs of one type, at one moment.
class StartWindows {
public:
    StartWindows(int queue_id, std::string_view job_type, pg::Time now)
        : queue_id_(queue_id), job_type_(job_type), now_(now)
    {
    }

    // Jobs with these windows are not to be started before; not later than now: they may. Needs a
    // transaction.
    pg::Time opens(std::string_view windows);

    // What opens() has said of late, so that a scan need not leave the PostgreSQL regime to ask.
    struct Known {
        std::string windows;
        pg::Time opens;
    };
    std::span<const Known> known() const { return known_; }

    // Of all that were asked for: when the first of those that are open close, and when the first
    // of the others open.
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

// A lane in the order of job types and priorities; as it is made: before the first.
struct LanePlace {
    std::string job_type;
    int priority = std::numeric_limits<std::int16_t>::min();
    bool operator==(const LanePlace &) const = default;
};

// The heads of the lanes of a queue, due or not, in the order of job types and priorities; jobs
// that have expired are passed over. Needs a transaction.
std::vector<LaneHead> lane_heads(const catalog::Queue &queue, pg::Time now);
// The same of at most so many lanes behind one of them, which becomes the last of these, or after
// the last of all anew the first.
std::vector<LaneHead> lane_heads(const catalog::Queue &queue, pg::Time now, LanePlace &after,
                                 int most);

// When the first waiting jobs of a lane are due from a key on, at most `limit`, in order; those
// that have expired are passed over. Needs a transaction.
std::vector<pg::Time> first_due_times(const catalog::Queue &queue, std::string_view job_type,
                                      int priority, core::LaneKey from, pg::Time now, int limit);

// Lower number first, then the earlier time, then the lower id.
bool runs_before(const LaneHead &left, const LaneHead &right);

// The first due jobs of a lane that are within their time windows and whose throttle keys are not
// paused, at most `limit`, in order; whether somebody has them in flight is not asked. Needs a
// transaction.
std::vector<job::DueJob> due_jobs(const catalog::Queue &queue, const LaneHead &lane, pg::Time now,
                                  std::size_t limit, StartWindows &windows,
                                  const std::vector<std::string> &paused_keys);

// Takes those of the jobs that are still due and that nobody else holds, in their order; the others
// are left out. Both need a transaction.
//
// record: state running, attempt + 1, deadline are written, and durable when the transaction
// commits.
std::vector<job::ClaimedJob> claim_by_record(const catalog::Queue &queue,
                                             std::span<const job::DueJob> waiting, pg::Time now);

// lock: the rows are locked until the transaction ends; what is returned looks as if it had been
// recorded.
std::vector<job::ClaimedJob> claim_by_lock(const catalog::Queue &queue,
                                           std::span<const job::DueJob> waiting, pg::Time now);

// A job as its next attempt would find it, due or not, for one that is rolled back: a waiting job
// is locked, a final one stays as it is. Nothing: it is neither, or somebody holds it. Needs a
// transaction.
std::optional<job::ClaimedJob> claim_for_trial(const catalog::Queue &queue, std::int64_t id,
                                               pg::Time now);

// ---- dispatch rows ----

// Which worker is to get a job.
struct Assignment {
    std::int64_t job_id;
    ItemPointerData place;  // of its row, as DueJob has it
    std::int64_t worker_id;
};

// Gives those of the jobs that are still due and that nobody else holds to their workers, in their
// order: state running, attempt
// + 1, not accepted yet, with a deadline by which that has to be: queue_ttl of the job, its type,
// its queue, or hipq.queue_ttl.
std::vector<job::ClaimedJob> dispatch(const catalog::Queue &queue, const catalog::JobType &type,
                                      std::span<const Assignment> assignments, pg::Time now);

// Attempts of one queue; and where the row of each may be, as job::DueJob has it.
struct Attempts {
    std::vector<std::int64_t> ids{};
    std::vector<std::int64_t> numbers{};
    std::vector<ItemPointerData> places{};

    void add(std::int64_t id, std::int64_t number, ItemPointerData place);
    std::size_t count() const { return ids.size(); }
};

// The worker accepts attempts that it was given: each has from now on the time that its job says.
// Those that are not its any more, or accepted already, are left out; the others come in their
// order.
std::vector<job::ClaimedJob> accept(const catalog::Queue &queue, std::int64_t worker_id,
                                    const Attempts &attempts, pg::Time now);

// Those of the attempts that no row bears out: the job is gone, or another attempt or another
// worker has it, as committed by now.
std::vector<std::int64_t> unknown_dispatches(const catalog::Queue &queue, std::int64_t worker_id,
                                             const Attempts &attempts);

// Locks a running attempt that a worker has, or that hipq.complete_later() left, to end it or to
// give it more time. Waits for whoever holds its row. Nothing: it is not running any more, not this
// attempt, or an executor has it.
std::optional<job::ClaimedJob> hold_attempt(const catalog::Queue &queue, std::int64_t id,
                                            int attempt);
// Those of the attempts of which that is so, in their order. Whoever calls names them in the order
// of ids: callers wait for each other's rows.
std::vector<job::ClaimedJob> hold_attempts(const catalog::Queue &queue, const Attempts &attempts);
// The same for the attempt that runs of the job with that key; `shard_key`: of that shard key,
// where keys are unique for each. Without it there has to be one job.
std::optional<job::ClaimedJob> hold_attempt(const catalog::Queue &queue, std::string_view job_type,
                                            std::string_view job_key,
                                            const std::optional<std::string> &shard_key);

// Gives an attempt that is held until then.
void set_deadline(const catalog::Queue &queue, const job::ClaimedJob &job, pg::Time deadline,
                  pg::Time now);

// The job that this process runs stays running when its handler has returned, until somebody
// completes it or its timeout has come. In the handler's transaction. Raises 55000 when the job is
// not this attempt's any more.
void leave_running(const catalog::Queue &queue, job::ClaimedJob job, pg::Time now);

// ---- lane search ----

// Of a scheduler. A queue may have very many lanes without room: each look goes through some of
// them, and the next one goes on.
class LaneSearch {
public:
    // Whether all lanes are to be looked for. Before the catalogue is read: queues that are newer
    // than it are not in the search.
    void begin_look();
    // Which queues are to be searched besides.
    void note_crowded();
    // Whether those of all queues are.
    bool concerns_all() const { return losses_.has_value(); }
    // Whether lanes of a queue are to be looked for in this look.
    bool concerns(int queue_id) const;
    // The next lanes of such a queue; needs a transaction.
    std::vector<LaneHead> next_heads(const catalog::Queue &queue, pg::Time now);
    // For one of those there is no room.
    void note_missing(int queue_id) { searches_[queue_id].is_missing = true; }
    // What next_heads() has given is looked at. Returns whether the search is to go on soon.
    bool end_heads(int queue_id);
    // A queue whose tables could not be looked at: the next look searches them if this one was to.
    void note_unsearched(int queue_id) const;
    void end_look();

private:
    struct Search {
        LanePlace after;          // the first again: it is through
        unsigned misses = 0;      // as the queue had them when it began
        bool is_missing = false;  // some lane, as far as it has come
        bool is_long = false;     // it does not come through in one look
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
    pg::Time first;  // no job of the lane is due before
};

// The first place of each lane, whatever is there: a job that waits, or a row that runs or is gone.
// Reads the index alone, a lane in some 10 us. Nothing: the live leaf has no such index, or
// somebody has locked it. Raises the error of a table whose file cannot be opened. Needs a
// transaction.
std::optional<std::vector<LaneStart>> lane_starts(const catalog::Queue &queue);

// ---- take jobs ----

// Waiting jobs of one queue, type and priority, the first of which may be due.
struct Lane {
    const catalog::Queue *queue;
    LaneHead head;
    lanes::LaneRef ref;                        // unknown: shared memory has no place for it
    Oid leaf;                                  // of the lane
    core::LaneKey not_after = core::lane_end;  // if its first job comes after that one, others'
                                               // come first: none of it is taken
};

// The due lanes of the queues that one process may work on and that are not paused, in no order,
// and when the next of the others is due that were made for a queue owner (InvalidOid: of all,
// paused or not). `may_use` is asked once for each queue with a due lane. Needs a transaction.
// Costs nothing for queues in which nothing is due.
struct DueLanes {
    std::vector<Lane> lanes;
    pg::Time next;
    std::size_t left_out;  // due lanes that are outside the window, others' among them
};
using MayUse = std::function<bool(const catalog::Queue &)>;
DueLanes due_lanes(const catalog::Catalogue &catalogue, Oid owner, const MayUse &may_use,
                   pg::Time now, lanes::LaneWindow *window = nullptr);

// Takes up to `most` due jobs into the empty hand, reserved in shared memory. Needs a transaction.
// False: there are none that nobody else has or looks at.
[[nodiscard]] bool take_jobs(Claimer &claimer, const Lane &lane, pg::Time now, std::size_t most);

// The same with these jobs, which stand in no lane or were looked for without it.
[[nodiscard]] bool take_these(Claimer &claimer, const Lane &lane, std::span<const job::DueJob> due,
                              pg::Time now, std::size_t most);

// ---- weight ----

// Of a claimed job, as its row says now.
core::Load load_of(const job::ClaimedJob &job);

}  // namespace hipq::claim
