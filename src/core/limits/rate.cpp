// Keeps the starts of a rate in a ring.
#include "core/limits/rate.hpp"

namespace hipq::core {

Starts &RateWindow::at(std::int32_t i) const
{
    const auto place = static_cast<std::size_t>(state_.oldest) + static_cast<std::size_t>(i);
    return starts_[place % starts_.size()];
}

Weight RateWindow::used(const Rate &rate, std::int64_t now) const
{
    Weight sum = state_.pending;
    for (std::int32_t i = state_.count; i-- > 0 && at(i).last + counted_for(rate) > now;)
        sum += at(i).weight;
    return sum;
}

std::int64_t RateWindow::exact_turn(const Rate &rate, Weight weight, std::int64_t now) const
{
    Weight left = used(rate, now);
    const auto fits = [&] { return left == 0 || left + weight <= rate.weight; };
    if (fits())
        return now;
    for (std::int32_t i = 0; i < state_.count; ++i) {
        const std::int64_t end = at(i).last + counted_for(rate);
        if (end <= now)
            continue;
        left -= at(i).weight;
        if (fits())
            return end;
    }
    return now + counted_for(rate);  // pending jobs have to start, and to end to count
}

std::int64_t RateWindow::next_spaced(const Rate &rate, std::int64_t now) const
{
    const std::int64_t next = state_.spaced + interval_of(rate, state_.spaced_weight);
    return std::max(next, now - smooth_tolerance) + interval_of(rate, state_.pending);
}

std::int64_t RateWindow::turn(const Rate &rate, Weight weight, std::int64_t now) const
{
    if (!rate.is_set() || weight == 0)
        return now;
    return rate.mode == RateMode::exact ? exact_turn(rate, weight, now)
                                        : std::max(next_spaced(rate, now), now);
}

Weight RateWindow::left(const Rate &rate, std::int64_t now) const
{
    if (rate.mode == RateMode::exact)
        return std::max<Weight>(rate.weight - used(rate, now), 0);
    const std::int64_t late = now - next_spaced(rate, now);
    return late < 0 ? 0 : weight_unit + rate.weight * late / rate.period;
}

bool RateWindow::is_idle(const Rate &rate, std::int64_t now) const
{
    return state_.jobs == 0 && used(rate, now) == 0 && next_spaced(rate, now) <= now;
}

void RateWindow::admit(Weight weight)
{
    state_.pending += weight;
    ++state_.jobs;
}

void RateWindow::give_back(Weight weight)
{
    state_.pending -= weight;
    --state_.jobs;
}

void RateWindow::start(const Rate &rate, Weight weight, std::int64_t now)
{
    give_back(weight);
    record(rate, weight, now);
}

void RateWindow::record(const Rate &rate, Weight weight, std::int64_t time)
{
    if (weight == 0)
        return;
    if (state_.count > 0)
        time = std::max(time, at(state_.count - 1).last);
    // The intervals of earlier starts have been waited for, but for the tolerance.
    const std::int64_t due = state_.spaced + interval_of(rate, state_.spaced_weight);
    state_.spaced = rate.mode == RateMode::exact ? time : std::max(due, time - smooth_tolerance);
    state_.spaced_weight = weight;
    record_exactly(rate, weight, time);
}

void RateWindow::record_exactly(const Rate &rate, Weight weight, std::int64_t time)
{
    const auto places = static_cast<std::int32_t>(starts_.size());
    const std::int64_t width = rate.period / (places - 2);
    const bool is_full = state_.count == places && at(0).last + counted_for(rate) > time;
    const bool is_dense = rate.weight > places / 2 * weight_unit || is_full;
    if (state_.count > 0 && is_dense && time - state_.opened <= width) {
        at(state_.count - 1).last = time;
        at(state_.count - 1).weight += weight;
        return;
    }
    if (state_.count == places) {  // the oldest starts make room
        if (is_full)
            at(1).weight += at(0).weight;
        state_.oldest = (state_.oldest + 1) % places;
        --state_.count;
    }
    at(state_.count++) = {time, weight};
    state_.opened = time;
}

}  // namespace hipq::core
