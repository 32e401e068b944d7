// Implements the breaker.
#include "core/limits/breaker.hpp"

#include <algorithm>

namespace hipq::core {

namespace {

constexpr std::int64_t hundred = 100;

std::int64_t part_of(const BreakerRule &rule, std::int64_t now)
{
    return now / std::max<std::int64_t>(rule.window / std::int64_t{breaker_parts}, 1);
}

bool is_too_much(const BreakerRule &rule, const EndCount &counted)
{
    return counted.ended >= rule.attempts &&
           counted.failed * hundred >= std::int64_t{counted.ended} * rule.percent;
}

}  // namespace

Breaker::Answer Breaker::ask(const BreakerRule &rule, std::int64_t now) const
{
    if (record_.state == BreakerState::closed)
        return Answer::any;
    if (record_.state == BreakerState::open && now < record_.opening.until)
        return Answer::none;
    if (!rule.is_set())
        return Answer::any;  // no rule could judge a probe
    return record_.has_probe ? Answer::none : Answer::one;
}

std::uint32_t Breaker::admit(const BreakerRule &rule)
{
    if (record_.state != BreakerState::closed && !rule.is_set())
        close();
    if (record_.state != BreakerState::closed) {
        record_.state = BreakerState::half_open;
        record_.has_probe = true;
        ++record_.generation;
    }
    return record_.generation;
}

bool Breaker::give_back(std::uint32_t generation)
{
    if (!is_current(generation) || record_.state != BreakerState::half_open)
        return false;
    record_.has_probe = false;
    return true;
}

bool Breaker::end(const BreakerRule &rule, std::uint32_t generation, bool has_failed,
                  std::int64_t now)
{
    if (!is_current(generation) || record_.state == BreakerState::open)
        return false;
    if (record_.state == BreakerState::half_open) {
        if (has_failed && rule.is_set())
            open({now, now + rule.open, BreakerCause::probe, {1, 1}});
        else
            close();
        return true;
    }
    if (!rule.is_set())
        return false;
    count(rule, has_failed, now);
    const EndCount sum = counted(rule, now);
    if (!is_too_much(rule, sum))
        return false;
    open({now, now + rule.open, BreakerCause::attempts, sum});
    return true;
}

void Breaker::open(const BreakerOpening &opening)
{
    record_.state = BreakerState::open;
    record_.has_probe = false;
    ++record_.generation;
    record_.opening = opening;
    forget_ends();
}

void Breaker::close()
{
    record_.state = BreakerState::closed;
    record_.has_probe = false;
    ++record_.generation;
    forget_ends();
}

void Breaker::count(const BreakerRule &rule, bool has_failed, std::int64_t now)
{
    const std::int64_t part = part_of(rule, now);
    constexpr auto parts = static_cast<std::int64_t>(breaker_parts);
    for (std::int64_t i = std::max(record_.newest + 1, part - parts + 1); i <= part; ++i)
        record_.parts[static_cast<std::size_t>(i % parts)] = {};
    record_.newest = std::max(record_.newest, part);
    EndCount &newest = record_.parts[static_cast<std::size_t>(record_.newest % parts)];
    ++newest.ended;
    newest.failed += has_failed ? 1 : 0;
}

EndCount Breaker::counted(const BreakerRule &rule, std::int64_t now) const
{
    constexpr auto parts = static_cast<std::int64_t>(breaker_parts);
    const std::int64_t part = part_of(rule, now);
    EndCount sum{};
    for (std::int64_t i = 0; i < parts; ++i) {
        const std::int64_t number = record_.newest - i;
        if (number < 0 || number <= part - parts)
            break;
        const EndCount &each = record_.parts[static_cast<std::size_t>(number % parts)];
        sum.ended += each.ended;
        sum.failed += each.failed;
    }
    return sum;
}

}  // namespace hipq::core
