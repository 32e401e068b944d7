// What the sources of the model of watched jobs share: sets of jobs as bits.
#pragma once

#include "watch_model.hpp"

#include <bit>
#include <utility>

namespace hipq::test {

inline constexpr Number unknown = 255;  // number of calls
inline constexpr Number first_place = 1;
// The process that has locked the row of a waiting job.
inline constexpr std::uint8_t by_scheduler = 1;
inline constexpr std::uint8_t by_finisher = 2;  // and higher

constexpr Bits bit(std::size_t job)
{
    return static_cast<Bits>(1U << job);
}
constexpr bool has(Bits jobs, std::size_t job)
{
    return (jobs & bit(job)) != 0;
}
constexpr Bits without(Bits jobs, Bits others)
{
    return static_cast<Bits>(jobs & ~others);
}
constexpr Bits first(Bits jobs)
{
    return jobs == 0 ? Bits{0} : bit(static_cast<std::size_t>(std::countr_zero(jobs)));
}
constexpr Bits last(Bits jobs)
{
    return jobs == 0 ? Bits{0} : std::bit_floor(jobs);
}
inline void add(Bits &jobs, Bits others)
{
    jobs = static_cast<Bits>(jobs | others);
}
inline void remove(Bits &jobs, Bits others)
{
    jobs = without(jobs, others);
}
inline void change(Number &number, int by)
{
    number = static_cast<Number>(number + by);
}

inline Number number_of(Bits job)
{
    return static_cast<Number>(std::countr_zero(job));
}
constexpr Report report_of(Bits job)
{
    return job;  // one bit, or none
}

}  // namespace hipq::test
