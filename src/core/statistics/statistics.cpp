// Counts jobs' events. Durations fall into buckets by their highest bits; minutes form a ring.
#include "core/statistics/statistics.hpp"

#include "core/limits/fair_quota.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hipq::core {

namespace {

constexpr int first_octave = 4;  // 2^4 us

template <class Number, std::size_t size>
void count_one(std::array<Number, size> &counts, std::size_t place)
{
    ++counts[place];
}

template <class Number>
void count_reasons(Counts<Number> &counts, const JobEvent &event)
{
    if (event.ending == Ending::succeeded &&
        (event.reason.has_value() || event.retries > 0 || event.is_manual))
        ++counts.recovered;
    if (!event.reason.has_value() || event.reason == Reason::manual_retry)
        return;
    const auto reason = static_cast<std::size_t>(*event.reason);
    if (event.ending == Ending::succeeded) {
        count_one(counts.recoveries, reason);
        return;
    }
    count_one(counts.failures, reason);
    if (event.ending == Ending::retried)
        count_one(counts.retries, reason);
}

// A manual retry is a new job, without a failed attempt of its own before it. Count it once that
// job succeeds or fails, whatever happened to it in between.
template <class Number>
void count_manual(Counts<Number> &counts, const JobEvent &event)
{
    constexpr auto manual = static_cast<std::size_t>(Reason::manual_retry);
    if (!event.is_manual || (event.ending != Ending::succeeded && event.ending != Ending::failed))
        return;
    count_one(counts.retries, manual);
    if (event.ending == Ending::succeeded)
        count_one(counts.recoveries, manual);
}

// Put-back and cancelled jobs are no executions to judge by; nor are jobs that never began.
template <class Number>
void count_run(Counts<Number> &counts, const JobEvent &event)
{
    const bool has_ended = event.ending == Ending::succeeded || event.ending == Ending::failed ||
                           event.ending == Ending::retried;
    if (has_ended && event.run >= 0)
        ++(event.retries > 0 ? counts.repeated_runs : counts.first_runs);
}

template <class Number>
void count_into(Counts<Number> &counts, const JobEvent &event)
{
    count_one(counts.endings, static_cast<std::size_t>(event.ending));
    count_reasons(counts, event);
    count_manual(counts, event);
    count_run(counts, event);
    if (event.ending == Ending::succeeded || event.ending == Ending::failed) {
        counts.retries_used += static_cast<Number>(std::max(event.retries, 0));
        count_one(counts.finished_by_retries, retry_class_of(event.retries));
    }
    const bool has_failed = event.ending == Ending::failed || event.ending == Ending::retried;
    if (has_failed && (event.retries > 0 || event.is_manual))
        ++counts.lost;
    if (event.leaves_dead_letter)
        ++counts.dead_letters;
    if (event.wait >= 0) {
        count_one(counts.waits, bucket_of(event.wait));
        counts.wait_sum += static_cast<std::uint64_t>(event.wait);
    }
    if (event.run >= 0) {
        count_one(counts.runs, bucket_of(event.run));
        counts.run_sum += static_cast<std::uint64_t>(event.run);
    }
}

template <class Number, std::size_t size>
void add_each(std::array<std::uint64_t, size> &sum, const std::array<Number, size> &more)
{
    for (std::size_t i = 0; i < size; ++i)
        sum[i] += more[i];
}

template <class Number>
void add_counts(Totals &sum, const Counts<Number> &more)
{
    add_each(sum.endings, more.endings);
    add_each(sum.failures, more.failures);
    add_each(sum.retries, more.retries);
    add_each(sum.recoveries, more.recoveries);
    sum.recovered += more.recovered;
    sum.lost += more.lost;
    sum.retries_used += more.retries_used;
    sum.first_runs += more.first_runs;
    sum.repeated_runs += more.repeated_runs;
    add_each(sum.finished_by_retries, more.finished_by_retries);
    sum.dead_letters += more.dead_letters;
    add_each(sum.waits, more.waits);
    add_each(sum.runs, more.runs);
    sum.wait_sum += more.wait_sum;
    sum.run_sum += more.run_sum;
}

// Minutes before 2000 occur too, with a wrong clock.
std::size_t ring_place(std::int64_t minute)
{
    return static_cast<std::size_t>((minute % minutes_kept + minutes_kept) % minutes_kept);
}

}  // namespace

std::size_t bucket_of(std::int64_t microseconds)
{
    if (microseconds < (std::int64_t{1} << first_octave))
        return 0;
    const auto value = static_cast<std::uint64_t>(microseconds);
    const auto octave = static_cast<std::size_t>(std::bit_width(value)) - 1;
    const std::size_t upper_half = (value >> (octave - 1)) & 1U;
    return std::min(1 + (octave - first_octave) * 2 + upper_half, bucket_count - 1);
}

std::int64_t bucket_floor(std::size_t bucket)
{
    if (bucket == 0)
        return 0;
    const std::int64_t octave = std::int64_t{1} << (first_octave + (bucket - 1) / 2);
    return (bucket - 1) % 2 == 0 ? octave : octave + octave / 2;
}

std::uint64_t number_in(const Histogram &histogram)
{
    return std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0});
}

std::vector<Shown> shown(const Histogram &histogram)
{
    std::vector<Shown> bounds;
    std::uint64_t below = 0;
    std::size_t bucket = 0;
    for (int octave = first_shown_octave; octave <= last_shown_octave; ++octave) {
        const std::int64_t bound = std::int64_t{1} << octave;
        for (; bucket_floor(bucket) < bound; ++bucket)
            below += histogram[bucket];
        bounds.push_back({bound, below});
    }
    return bounds;
}

std::optional<double> percentile(const Histogram &histogram, double share)
{
    const std::uint64_t all = number_in(histogram);
    if (all == 0)
        return std::nullopt;
    const double rank =
        std::clamp(std::ceil(share * static_cast<double>(all)), 1.0, static_cast<double>(all));
    double before = 0;
    std::size_t bucket = 0;
    while (before + static_cast<double>(histogram[bucket]) < rank)
        before += static_cast<double>(histogram[bucket++]);
    const auto from = static_cast<double>(bucket_floor(bucket));
    const auto to = static_cast<double>(bucket_floor(bucket + 1));
    return from + (to - from) * (rank - before - 0.5) / static_cast<double>(histogram[bucket]);
}

std::size_t retry_class_of(std::int32_t retries)
{
    std::size_t place = 0;
    while (place + 1 < retry_classes.size() && retry_classes[place + 1].least <= retries)
        ++place;
    return place;
}

void add(Totals &sum, const Totals &more)
{
    add_counts(sum, more);
}

void count(Statistics &statistics, const JobEvent &event, std::int64_t minute)
{
    Statistics::Minute &place = statistics.minutes[ring_place(minute)];
    if (place.number != minute)
        place = Statistics::Minute{minute, {}};
    count_into(place.counts, event);
    count_into(statistics.totals, event);
}

Totals sum_of_minutes(const Statistics &statistics, std::int64_t present, int length)
{
    Totals sum{};
    for (const Statistics::Minute &minute : statistics.minutes)
        if (minute.number > present - length && minute.number <= present)
            add_counts(sum, minute.counts);
    return sum;
}

std::optional<std::size_t> find_place(std::span<const StatisticsPlace> places, std::uint64_t key)
{
    const auto found = std::ranges::find(places, key, &StatisticsPlace::key);
    if (found == places.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - places.begin());
}

namespace {

bool is_idle(const StatisticsPlace &place, std::int64_t present)
{
    return place.latest <= present - minutes_kept;
}

// Idle places of other owners count as free.
QuotaUse use_of(std::span<const StatisticsPlace> places, std::uint32_t owner, std::int64_t present)
{
    QuotaUse use{0, 0};
    for (const StatisticsPlace &place : places) {
        const bool is_own = place.key != 0 && place.owner == owner;
        use.own += is_own ? 1 : 0;
        use.all += is_own || (place.key != 0 && !is_idle(place, present)) ? 1 : 0;
    }
    return use;
}

// Among the places of one owner, or of all.
std::optional<std::size_t> longest_idle(std::span<const StatisticsPlace> places,
                                        std::optional<std::uint32_t> owner, std::int64_t present)
{
    std::optional<std::size_t> longest;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const bool is_meant = !owner.has_value() || places[i].owner == *owner;
        if (is_meant && is_idle(places[i], present) &&
            (!longest.has_value() || places[i].latest < places[*longest].latest))
            longest = i;
    }
    return longest;
}

}  // namespace

std::optional<std::size_t> choose_place(std::span<const StatisticsPlace> places,
                                        std::uint32_t owner, int share, std::int64_t present)
{
    const Quota quota = table_quota(static_cast<std::int64_t>(places.size()), share);
    if (!may_take_one(quota, use_of(places, owner, present)))
        return longest_idle(places, owner, present);
    const auto free = find_place(places, 0);
    return free.has_value() ? free : longest_idle(places, std::nullopt, present);
}

}  // namespace hipq::core
