// The statistics of the jobs of one type in one queue: over the last hour, minute by minute, and in
// total. Plain data over memory that its user provides; it is saved as it is.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/retry/failure.hpp"
#include "core/time.hpp"

namespace hipq::core {

// ---- durations: two buckets per octave from 16 us to 9.5 hours ----

inline constexpr std::size_t bucket_count = 64;

std::size_t bucket_of(std::int64_t microseconds);
// The least duration that falls into the bucket.
std::int64_t bucket_floor(std::size_t bucket);

using Histogram = std::array<std::uint64_t, bucket_count>;

// Returns the duration, in microseconds, that a `share` of the counted values did not exceed;
// nothing if nothing was counted. Interpolated between the bounds of a bucket, at most 20 % off.
std::optional<double> percentile(const Histogram &histogram, double share);

// The bounds at which a histogram is shown, in microseconds: whole octaves from 1 ms to 1.2 hours.
// They are bounds of buckets, so the counts below them are exact.
inline constexpr int first_shown_octave = 10;
inline constexpr int last_shown_octave = 32;

struct Shown {
    std::int64_t bound;   // upper bound, exclusive
    std::uint64_t below;  // number of values below it
};
std::vector<Shown> shown(const Histogram &histogram);
std::uint64_t number_in(const Histogram &histogram);

// ---- number of retries of a job, in classes ----

struct RetryClass {
    std::string_view name;
    std::int32_t least;  // up to the start of the next class
};
inline constexpr std::array<RetryClass, 6> retry_classes{
    {{"0", 0}, {"1", 1}, {"2", 2}, {"3-5", 3}, {"6-10", 6}, {"11+", 11}}};

std::size_t retry_class_of(std::int32_t retries);

// ---- what happens to a job ----

// The first two and the last two end the job.
enum class Ending : unsigned char { succeeded, failed, retried, put_back, cancelled, expired };
inline constexpr std::size_t ending_count = 6;

struct JobEvent {
    Ending ending;
    std::optional<Reason> reason;  // of a failure; of a success: why the job was retried, if known
    bool leaves_dead_letter = false;
    std::int32_t retries = 0;  // charged to the job so far
    std::int64_t wait = -1;    // microseconds from its due time to its start; -1: it did not start
    std::int64_t run =
        -1;  // microseconds from its start to its end; -1: as above, or no worker began it
    bool is_manual = false;  // a user enqueued the job again
};

template <class Number>
struct Counts {
    std::array<Number, ending_count> endings;
    std::array<Number, reason_count> failures;  // attempts, by reason
    std::array<Number, reason_count> retries;  // attempts that a charged retry followed, by reason;
                                               // manual_retry: jobs that ended
    std::array<Number, reason_count>
        recoveries;       // jobs that succeeded after a retry, by the reason of the retry
    Number recovered;     // retries that succeeded
    Number lost;          // retries that failed, whatever happened to the job afterwards
    Number retries_used;  // by jobs that succeeded or failed
    Number first_runs;    // executions that succeeded or failed and were no retry (retry_count = 0)
    Number repeated_runs;  // the same for executions that were a retry
    std::array<Number, retry_classes.size()> finished_by_retries;
    Number dead_letters;
    std::array<Number, bucket_count> waits;
    std::array<Number, bucket_count> runs;
    std::uint64_t wait_sum;  // microseconds, summed over all in waits, and in runs
    std::uint64_t run_sum;

    Number of(Ending ending) const { return endings[static_cast<std::size_t>(ending)]; }
    Number finished() const { return of(Ending::succeeded) + of(Ending::failed); }
};
using Totals = Counts<std::uint64_t>;

void add(Totals &sum, const Totals &more);

// ---- over time ----

inline constexpr int minutes_kept = 60;

inline std::int64_t minute_of(std::int64_t microseconds)
{
    return microseconds / microseconds_per_minute -
           (microseconds % microseconds_per_minute < 0 ? 1 : 0);
}

// A new minute replaces an old one in its place of the ring, and each place records its minute. So
// clock steps do no harm: minutes that lie ahead (the clock was set back) are ignored until they
// come, and minutes that come twice count twice.
struct Statistics {
    struct Minute {
        std::int64_t number;
        Counts<std::uint32_t> counts;
    };
    std::int64_t since;  // start of the totals
    Totals totals;
    std::array<Minute, minutes_kept> minutes;
};

void count(Statistics &statistics, const JobEvent &event, std::int64_t minute);

// The sum of the `length` minutes that end with `present`.
Totals sum_of_minutes(const Statistics &statistics, std::int64_t present, int length);

// ---- places of statistics ----

struct StatisticsPlace {
    std::uint64_t key;    // 0: free
    std::int64_t latest;  // last minute in which something was counted
    std::uint32_t owner;
};

// Returns the place of a key; nothing: it has none.
std::optional<std::size_t> find_place(std::span<const StatisticsPlace> places, std::uint64_t key);

// Chooses a place for a new key of an owner: a free one, or that of the key idle for longest, if
// idle for over an hour. An owner that has used its share (per cent) gets only a place of its own
// keys. Nothing: there is no place.
std::optional<std::size_t> choose_place(std::span<const StatisticsPlace> places,
                                        std::uint32_t owner, int share, std::int64_t present);

}  // namespace hipq::core
