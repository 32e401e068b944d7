// Pockets: ranges of keys that may hold claimable rows, and what the rows wait for. A lane
// (core/lanes/lane.hpp) consists of them.
//
// There is space for a few pockets. Every way to save space makes ranges larger, never smaller, so
// that no row is lost.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace hipq::core {

// The position of a row: by scheduled_run_time (microseconds), then id.
struct LaneKey {
    std::int64_t time;
    std::int64_t id;
    auto operator<=>(const LaneKey &) const =
        default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a null pointer
};
inline constexpr std::int64_t lane_limit = std::numeric_limits<std::int64_t>::max();
inline constexpr LaneKey lane_start{std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::min()};
inline constexpr LaneKey lane_end{lane_limit, lane_limit};

// The neighbouring keys; ids are far from the limits.
constexpr LaneKey after(LaneKey key)
{
    return key == lane_end ? key : LaneKey{key.time, key.id + 1};
}
constexpr LaneKey before(LaneKey key)
{
    return key == lane_start ? key : LaneKey{key.time, key.id - 1};
}

// Includes both ends.
struct KeyRange {
    LaneKey first;
    LaneKey last;
    bool operator==(const KeyRange &) const = default;
    constexpr bool is_empty() const { return last < first; }
    constexpr bool contains(LaneKey key) const { return first <= key && key <= last; }
};
constexpr KeyRange hull(KeyRange left, KeyRange right)
{
    return {std::min(left.first, right.first), std::max(left.last, right.last)};
}

// No row is deferred for longer than this (microseconds), unless its time windows are closed.
inline constexpr std::int64_t longest_hold = 10'000'000;

// Keys that may be claimable, but need no look before a time (microseconds).
struct Pocket {
    KeyRange range;
    std::int64_t not_before;
    bool operator==(const Pocket &) const = default;

    // No row in the pocket comes before this key.
    constexpr LaneKey due() const
    {
        return {std::max(range.first.time, not_before), range.first.id};
    }
    constexpr bool is_ready(std::int64_t now) const { return not_before <= now; }
    // Its rows are outside their time windows: there may be very many.
    constexpr bool holds_many(std::int64_t now) const { return not_before > now + longest_hold; }
};

// Merges two pockets into one.
constexpr Pocket merged(const Pocket &left, const Pocket &right)
{
    return {hull(left.range, right.range), std::min(left.not_before, right.not_before)};
}

// Pockets in the order of their keys. If there is no space, the two nearest are merged; pairs whose
// rows wait for a time window, and would be looked at too early, are avoided.
template <std::size_t size>
struct Pockets {
    std::array<Pocket, size> entries{};
    std::uint32_t count = 0;
    bool operator==(const Pockets &) const = default;

    void add(Pocket pocket, std::int64_t now)
    {
        if (pocket.range.is_empty())
            return;
        if (count < size) {
            insert(pocket);
            return;
        }
        // Holds one pocket more than there is space for, so that the new pocket is compared with
        // its neighbours too.
        std::array<Pocket, size + 1> all{};
        std::copy_n(entries.begin(), size, all.begin());
        all[size] = pocket;
        std::sort(all.begin(), all.end(),
                  [](const Pocket &l, const Pocket &r) { return l.range.first < r.range.first; });
        std::size_t nearest = 0;
        for (std::size_t i = 1; i < size; ++i)
            if (cost(all[i], all[i + 1], now) < cost(all[nearest], all[nearest + 1], now))
                nearest = i;
        all[nearest] = merged(all[nearest], all[nearest + 1]);
        std::copy(all.begin() + static_cast<std::ptrdiff_t>(nearest) + 2, all.end(),
                  all.begin() + static_cast<std::ptrdiff_t>(nearest) + 1);
        std::copy_n(all.begin(), size, entries.begin());
    }

    // The same, but all rows that wait for the same opening share a pocket, whatever lies between
    // them.
    void add_to_its_like(Pocket pocket, std::int64_t now)
    {
        for (std::uint32_t i = 0; i < count && !pocket.range.is_empty(); ++i) {
            if (entries[i].not_before != pocket.not_before)
                continue;
            pocket = merged(pocket, entries[i]);
            std::copy(entries.begin() + i + 1, entries.begin() + count, entries.begin() + i);
            --count;
            break;
        }
        add(pocket, now);
    }

    bool contain(LaneKey key) const
    {
        return std::any_of(entries.begin(), entries.begin() + count,
                           [&](const Pocket &pocket) { return pocket.range.contains(key); });
    }

private:
    void insert(Pocket pocket)
    {
        std::uint32_t at = count;
        for (; at > 0 && pocket.range.first < entries[at - 1].range.first; --at)
            entries[at] = entries[at - 1];
        entries[at] = pocket;
        ++count;
    }
    // The cost of merging two pockets: whether rows would be looked at long before their opening,
    // and how many other rows would be read.
    struct Cost {
        bool looks_too_early;
        std::uint64_t gap;
        auto operator<=>(const Cost &) const = default;  // NOLINT(modernize-use-nullptr): as above
    };
    static Cost cost(const Pocket &left, const Pocket &right, std::int64_t now)
    {
        return {(left.holds_many(now) || right.holds_many(now)) &&
                    left.not_before != right.not_before,
                gap(left, right)};
    }
    // Measured in time; ids only order rows of the same time.
    static std::uint64_t gap(const Pocket &left, const Pocket &right)
    {
        return right.range.first.time <= left.range.last.time
                   ? 0
                   : static_cast<std::uint64_t>(right.range.first.time) -
                         static_cast<std::uint64_t>(left.range.last.time);
    }
};

}  // namespace hipq::core
