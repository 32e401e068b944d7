// How a table that only grows is cut into leaves by time, so that old rows go by dropping a leaf.
// Times in microseconds since the Unix epoch, UTC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hipq::core {

struct Period {
    std::int64_t start;  // inclusive
    std::int64_t end;    // exclusive
    bool operator==(const Period &) const = default;
};

// The length of a leaf: a quarter of the retention, rounded up to a whole day (retention over 4
// days), hour (over 4 hours) or minute. A quarter, because with one current leaf, two made ahead
// and a default leaf a queue then never has more than 8 leaves (after a change of the retention the
// old leaves come on top until they are due: up to 15).
std::int64_t period_length(std::int64_t retention);

// The period of that length, aligned to the epoch, that holds `time` (times before the epoch too).
Period period_of(std::int64_t time, std::int64_t length);

// The leaves missing at `now`: the current period and two more, cut to start where `covered_until`
// (the latest end of an existing leaf, nothing if there is none) ends; periods that are wholly
// covered are left out. So a changed retention never overlaps an old leaf.
std::vector<Period> missing_periods(std::int64_t now, std::int64_t length,
                                    std::optional<std::int64_t> covered_until);

// A leaf may be dropped when its youngest possible row is older than the retention: end + retention
// <= now.
bool is_due(const Period &period, std::int64_t now, std::int64_t retention);

// "p20261121", "p2026112113" or "p202611211305": the start in UTC, as short as it is exact (whole
// day, whole hour, minute).
std::string leaf_suffix(const Period &period);

}  // namespace hipq::core
