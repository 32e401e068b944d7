// Takes jobs out of a lane into the batch of a process.
//
// Uses the lane and its index, or SQL from the beginning of the lane if one of the two is missing.
#include "claim/take_jobs.hpp"

#include "catalog/cache.hpp"
#include "claim/claim.hpp"
#include "claim/full_keys.hpp"
#include "claim/lane_rows.hpp"
#include "claim/weight.hpp"
#include "job/claimed_job.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/flight/crash_cases.hpp"
#include "shared/lanes/capacity.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/lane_entries.hpp"
#include "shared/lanes/lane_table.hpp"

namespace hipq::claim {

namespace {

using lanes::WaitingJob;

// After this delay, look again at a crash suspect whose turn has not come.
constexpr std::int64_t suspect_delay = 100'000;  // us

// After this delay, look again at a job that another process has in flight. Usually that job is
// about to end. But the lane may point at it because it is to run again, and no process will note
// that a second time.
constexpr std::int64_t in_flight_delay = 10'000;

// After this delay, look again at a lane that another process reads: the reader may not see the job
// for which this executor was woken.
constexpr std::int64_t reading_delay = 1'000;

// How many rows to read at once if a throttle key is full.
constexpr std::size_t walking_piece = 100;

using Suspects = std::set<std::int64_t>;

Suspects suspects()
{
    Suspects ids;
    if (flight::count_crash_cases() == 0)
        return ids;
    for (const core::CrashCase &entry : flight::crash_cases(MyDatabaseId))
        if (entry.runs_alone != 0 || entry.charge_due != 0)
            ids.insert(entry.job_id);
    return ids;
}

// Suspects run one at a time. If the first job of the lane that no process has in flight is a
// suspect whose turn has come, keeps only that job. Otherwise keeps all jobs but the suspects.
void pass_over_suspects(std::vector<WaitingJob> &jobs, const Suspects &suspects)
{
    if (suspects.empty())
        return;
    const auto is_suspect = [&](const WaitingJob &job) { return suspects.contains(job.id); };
    const auto first = std::find_if(jobs.begin(), jobs.end(), [](const WaitingJob &job) {
        return !lanes::is_in_flight(MyDatabaseId, job.id);
    });
    if (first != jobs.end() && is_suspect(*first) &&
        !flight::is_kept_back(lanes::suspicion_of(MyDatabaseId, first->id)))
        jobs = {*first};
    else
        std::erase_if(jobs, is_suspect);
}

// Reserves some of the jobs, in their order, and adds them to the prefetched batch. Returns how
// many jobs were looked at before the capacity was used up.
std::size_t reserve(Prefetched &prefetched, std::span<const WaitingJob> jobs, std::size_t most)
{
    const std::size_t before = prefetched.jobs.size();
    prefetched.jobs.resize(most);
    const lanes::Reserved reserved =
        lanes::reserve_jobs(jobs, std::span(prefetched.jobs).subspan(before));
    prefetched.jobs.resize(before + reserved.jobs);
    return reserved.considered;
}

// ---- by the lane and its index ----

// A reading of a lane. The lane is given back unchanged unless end() is called.
class OwnReading {
public:
    OwnReading(lanes::LaneRef lane, pg::Time now)
        : lane_(lane), reading_(lanes::begin_reading(lane, now))
    {
    }
    ~OwnReading()
    {
        if (reading_.has_value())
            lanes::cancel_reading(lane_);
    }
    OwnReading(const OwnReading &) = delete;
    OwnReading &operator=(const OwnReading &) = delete;

    bool is_mine() const { return reading_.has_value(); }
    lanes::LaneReading &operator*() { return *reading_; }
    void end()
    {
        lanes::end_reading(lane_, *reading_);
        reading_.reset();
    }

private:
    lanes::LaneRef lane_;
    std::optional<lanes::LaneReading> reading_;
};

struct Taker {
    Claimer &claimer;
    const Lane &lane;
    pg::Time now;
    std::size_t most;
    Suspects suspects;
    StartWindows &windows;
    bool weighs;  // whether the weights of the jobs matter
    FullKeys full_keys;
    std::uint64_t read_key = 0;  // the parked key that is read; 0: all rows are

    bool may_start(const LaneRow &row) const
    {
        return row.is_claimable && !row.is_closed && row.key.time <= now.value;
    }
    std::size_t capacity() const { return most - claimer.prefetched.jobs.size(); }
    // How many rows to read at once: more than there is capacity for if many may have to be passed
    // over.
    std::size_t piece() const
    {
        return full_keys.any() ? std::max(capacity(), walking_piece) : capacity();
    }

    std::vector<WaitingJob> candidates(const LaneRows &found)
    {
        std::vector<WaitingJob> jobs;
        for (const LaneRow &row : found.rows)
            if (may_start(row) && jobs.size() < capacity() &&
                !claimer.held.is_held(row.key.id, now) &&
                full_keys.admits(row.weight, row.throttle_key))
                jobs.push_back({row.key.id, lane.queue->id, pg::Time{row.key.time}, lane.ref,
                                row.place, weighs, row.weight, row.throttle_key, row.last_worker,
                                row.next});
        pass_over_suspects(jobs, suspects);
        return jobs;
    }

    bool others_come_first(std::span<const WaitingJob> jobs) const
    {
        return claimer.prefetched.is_empty() && !jobs.empty() &&
               lane.not_after < core::LaneKey{jobs.front().due.value, jobs.front().id};
    }

    // Whether the row is the next of the jobs. Call this for rows in order; the jobs are in the
    // same order.
    static bool is_next(std::span<const WaitingJob> &jobs, const LaneRow &row)
    {
        if (jobs.empty() || jobs.front().id != row.key.id)
            return false;
        jobs = jobs.subspan(1);
        return true;
    }

    // Until when a claimable row stays in the lane; nothing: there is no capacity for it.
    std::optional<pg::Time> put_off_until(const LaneRow &row, bool is_in_flight) const
    {
        if (is_in_flight)
            return now + in_flight_delay;
        if (claimer.held.is_held(row.key.id, now))
            return claimer.held.until(row.key.id);
        if (suspects.contains(row.key.id))
            return now + suspect_delay;
        return std::nullopt;
    }

    // A worker that has the job, or is offered it, may keep it for long. If it does not accept it,
    // the job is noted in this lane.
    bool is_with_worker(const LaneRow &row) const
    {
        return lanes::is_with_worker_until_returned(
            {row.key.id, lane.queue->id, pg::Time{row.key.time}, lane.ref});
    }

    // Reserves jobs first and updates the reading afterwards: rows that the lane counts as read
    // must be in this prefetched batch.
    //
    // Jobs that other processes have in flight take up space among the candidates. If only those
    // were found, returns without stopping the reading, so that the rest is read next. Otherwise no
    // process would come back for the rest, because the look at the lane found nothing.
    void take(const LaneRows &found, lanes::LaneReading &reading)
    {
        const std::vector<WaitingJob> jobs = candidates(found);
        if (others_come_first(jobs)) {
            reading.early(found.rows.front().key);
            reading.stop();
            return;
        }
        const std::size_t first = claimer.prefetched.jobs.size();
        const std::size_t considered = reserve(claimer.prefetched, jobs, most);
        std::span<const WaitingJob> reserved = std::span(claimer.prefetched.jobs).subspan(first);
        std::span<const WaitingJob> looked_at(jobs.data(), considered);
        bool has_advanced = false;
        for (const LaneRow &row : found.rows) {
            if (row.key.time > now.value) {
                reading.early(row.key);
                return;
            }
            if (row.is_closed) {
                reading.closed({row.first, row.key}, row.opens.value);
                has_advanced = true;
                continue;
            }
            const bool was_looked_at = is_next(looked_at, row);
            if (!row.is_claimable || is_next(reserved, row) ||
                (was_looked_at && is_with_worker(row))) {
                reading.passed(row.key);
            } else if (!was_looked_at && full_keys.contains(row.throttle_key)) {
                leave_full(reading, row);
                if (read_key != 0)
                    return;
            } else if (const auto again = put_off_until(row, was_looked_at)) {
                reading.held(row.key, again->value);
            } else {
                if (has_advanced && claimer.prefetched.is_empty())
                    return;
                reading.early(row.key);
                reading.stop();
                return;
            }
            has_advanced = true;
        }
        if (found.is_end)
            reading.exhausted();
    }

    // Jobs that have left are on their way to another node, and must not start here.
    void pass_over_left(LaneRows &found) const
    {
        if (lane.queue->leaving_in_order != nullptr)
            for (LaneRow &row : found.rows)
                row.is_claimable = row.is_claimable && !lane.queue->has_left_in_order(row.key.id);
    }

    void leave_full(lanes::LaneReading &reading, const LaneRow &row)
    {
        if (read_key != 0) {
            reading.full(row.key, full_keys.again(row.throttle_key).value);
            return;
        }
        full_keys.pass_over(row);
        reading.passed(row.key);
    }

    // Returns what to read next: the next parked key, if its rows come before all others.
    std::optional<core::KeyRange> next_range(lanes::LaneReading &reading)
    {
        while (!reading.is_done() && (!reading.reads_key() || !reading.range().has_value())) {
            read_key = lanes::read_next_key(lane.ref, reading, now);
            if (read_key == 0)
                break;
            if (full_keys.are_known_to_have(read_key))
                reading.full(reading.range()->first, full_keys.again(read_key).value);
        }
        return reading.range();
    }

    void read(LaneIndex &index, lanes::LaneReading &reading)
    {
        while (capacity() > 0) {
            const auto range = next_range(reading);
            if (!range.has_value())
                return;
            LaneRows found =
                index.read({lane.head.job_type, lane.head.priority, *range, read_key}, now, piece(),
                           weighs, windows, claimer.prefetched.paused_keys);
            pass_over_left(found);
            take(found, reading);
        }
    }
};

// Reads the paused keys again. A reading passes over jobs with paused keys, and hipq.resume()
// notifies the lanes only once. If it did so before this reading began, the notification counts for
// this reading, whose catalogue must therefore not be older.
void look_again_what_is_paused(const Taker &taker)
{
    Prefetched &prefetched = taker.claimer.prefetched;
    if (prefetched.paused_keys.empty())
        return;
    const auto catalogue = catalog::working_catalogue();
    const catalog::Queue *queue = catalogue->find(prefetched.queue_id);
    prefetched.paused_keys =
        queue == nullptr ? std::vector<std::string>() : queue->paused_keys(prefetched.job_type);
}

bool take_by_lane(Taker &taker, LaneIndex &index)
{
    if (index.leaf() != taker.lane.leaf)
        return false;
    OwnReading reading(taker.lane.ref, taker.now);
    if (!reading.is_mine()) {
        taker.claimer.next_due = std::min(taker.claimer.next_due, taker.now + reading_delay);
        return false;
    }
    look_again_what_is_paused(taker);
    taker.read(index, *reading);
    taker.full_keys.park(*reading);
    reading.end();
    taker.full_keys.stand();
    if (taker.claimer.prefetched.is_empty() &&
        lanes::due_of(taker.lane.ref) <= taker.now)  // for example, after a suspect that must wait
        taker.claimer.next_due = std::min(taker.claimer.next_due, taker.now + in_flight_delay);
    return !taker.claimer.prefetched.is_empty();
}

// ---- by SQL ----

bool take_these(Claimer &claimer, const Lane &lane, std::span<const job::DueJob> due, pg::Time now,
                std::size_t most, const Suspects &suspects)
{
    std::vector<WaitingJob> jobs;
    for (const job::DueJob &job : due)
        if (!claimer.held.is_held(job.id, now))
            jobs.push_back({job.id, lane.queue->id, job.due, lane.ref, job.place, job.is_weighed,
                            job.weight, job.key, 0, job.next});
    pass_over_suspects(jobs, suspects);
    reserve(claimer.prefetched, jobs, most);
    return !claimer.prefetched.is_empty();
}

// The statement also finds jobs that are held, in flight or suspects, so its limit allows for them.
// When a job of a full key gets capacity, the process that frees it has the queue looked at.
bool take_by_sql(Taker &taker)
{
    const Lane &lane = taker.lane;
    const std::size_t passed_over =
        taker.claimer.held.size() + lanes::count_in_flight() + taker.suspects.size();
    const auto due = due_jobs(*lane.queue, lane.head, taker.now, taker.most + passed_over,
                              taker.windows, taker.claimer.prefetched.paused_keys,
                              [&](core::Weight weight, std::uint64_t throttle_key) {
                                  return taker.full_keys.admits(weight, throttle_key);
                              });
    return take_these(taker.claimer, lane, due, taker.now, taker.most, taker.suspects);
}

bool take(Taker &taker)
{
    auto index = taker.lane.ref.is_known() ? LaneIndex::open(*taker.lane.queue) : std::nullopt;
    if (!index.has_value())
        return take_by_sql(taker);
    const bool any = take_by_lane(taker, *index);
    index->close();
    return any;
}

}  // namespace

bool take_these(Claimer &claimer, const Lane &lane, std::span<const job::DueJob> due, pg::Time now,
                std::size_t most)
{
    return take_these(claimer, lane, due, now, most, suspects());
}

bool take_jobs(Claimer &claimer, const Lane &lane, pg::Time now, std::size_t most)
{
    claimer.keys_without_lease.clear();  // of a look that failed: they may be of another type
    StartWindows windows(lane.queue->id, lane.head.job_type, now);
    Taker taker{claimer,
                lane,
                now,
                most,
                suspects(),
                windows,
                is_throttled(*lane.queue, lane.head.job_type),
                FullKeys(claimer, lane, now)};
    const bool any = take(taker);
    claimer.prefetched.closes = windows.first_closing();
    if (windows.first_opening() != pg::infinity)  // when this executor may be busy, or gone
        databases::work_due(MyDatabaseId, windows.first_opening());
    return any;
}

}  // namespace hipq::claim
