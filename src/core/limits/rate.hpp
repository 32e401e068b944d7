// Limits how often jobs start: the sum of their weights in any period.
//
// RateMode::exact keeps the times of recent starts: in no period do jobs start that weigh more than
// the limit. RateMode::smooth spaces the starts evenly (the generic cell rate algorithm). A job
// counts from its admission on: first as pending, then at the time of its start. So a stall between
// the two cannot bring its start into a period that is full.
//
// Times are microseconds of one clock that is never set back. Plain data and straight-line code,
// because it lives in shared memory under a lock.
#pragma once

#include "core/limits/limiter_name.hpp"
#include "core/time.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace hipq::core {

enum class RateMode : std::uint8_t { exact, smooth };

struct Rate {
    Weight weight = 0;        // in each period; 0: no limit
    std::int64_t period = 0;  // microseconds
    RateMode mode = RateMode::exact;
    constexpr bool is_set() const { return weight > 0; }
    bool operator==(const Rate &) const = default;
};

// How much later than its start a start still counts, beyond the period: the handler's own clock
// may be read this much after the start was recorded.
constexpr std::int64_t rate_guard(std::int64_t period)
{
    constexpr std::int64_t least = 5'000;
    constexpr std::int64_t most = 100'000;
    return std::clamp(period / 256, least, most);
}

// The same for the first call of a handler in a process: PostgreSQL loads and compiles the function
// before the handler's code begins.
constexpr std::int64_t first_call_guard(std::int64_t period)
{
    constexpr std::int64_t most = 50'000;
    return std::min(period / 20, most);
}

// A smooth rate lets starts that came late be made up for, up to this much. So in any period jobs
// start that weigh at most the limit, times 1 + tolerance / period, plus one job.
inline constexpr std::int64_t smooth_tolerance = 10'000;

// The time between two starts of this weight under a smooth rate.
constexpr std::int64_t interval_of(const Rate &rate, Weight weight)
{
    return static_cast<std::int64_t>(static_cast<double>(rate.period) *
                                     static_cast<double>(weight) /
                                     static_cast<double>(rate.weight));
}

// Starts that follow one another closely: the time of the last one, and the sum of the weights.
struct Starts {
    std::int64_t last;
    Weight weight;
};

// All zero: no start yet.
struct RateRecord {
    Weight pending;        // of admitted jobs that have not started
    std::int32_t jobs;     // number of these jobs
    std::int32_t oldest;   // place of the oldest starts that are kept
    std::int32_t count;    // of starts that are kept
    std::int64_t opened;   // time of the first of the newest starts
    std::int64_t spaced;   // smooth: the latest start, moved so that the starts are evenly spaced
    Weight spaced_weight;  // smooth: of that start
};

// The state of one rate, with the memory for its starts. If there are more starts than places,
// starts within a small part of the period share one, and count to the last of them: with 128
// places, at most 0.8 % of the limit is lost.
class RateWindow {
public:
    RateWindow(RateRecord &state, std::span<Starts> starts) : state_(state), starts_(starts) {}

    // Returns the earliest time at which a job of that weight may start, if pending jobs start now;
    // `now`: it may start now. A job heavier than the limit may start if no other start counts.
    std::int64_t turn(const Rate &rate, Weight weight, std::int64_t now) const;
    // The weight of jobs that may start now.
    Weight left(const Rate &rate, std::int64_t now) const;
    // The weight of the starts that count now, and of pending jobs.
    Weight used(const Rate &rate, std::int64_t now) const;
    // Whether nothing that is recorded matters any more.
    bool is_idle(const Rate &rate, std::int64_t now) const;

    // A job is admitted: call it only if its turn has come. It starts, or it is gone without a
    // start.
    void admit(Weight weight);
    void start(const Rate &rate, Weight weight, std::int64_t now);
    void give_back(Weight weight);
    // Records starts that no pending job made, at the latest time at which they may have happened,
    // or that of the latest start.
    void record(const Rate &rate, Weight weight, std::int64_t time);

private:
    Starts &at(std::int32_t i) const;  // 0: the oldest
    std::int64_t exact_turn(const Rate &rate, Weight weight, std::int64_t now) const;
    std::int64_t next_spaced(const Rate &rate, std::int64_t now) const;
    void record_exactly(const Rate &rate, Weight weight, std::int64_t time);
    RateRecord &state_;
    std::span<Starts> starts_;
};

// How long a start counts.
constexpr std::int64_t counted_for(const Rate &rate)
{
    return rate.period + rate_guard(rate.period);
}

}  // namespace hipq::core
