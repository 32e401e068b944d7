// Splits a growing table into leaves by time, so that old rows are removed by dropping a leaf.
// Times are in microseconds since the Unix epoch, UTC.
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
// days), hour (over 4 hours) or minute. With quarters, one current leaf, two created ahead and a
// default leaf, a queue never has more than 8 leaves. (After a change of the retention the old
// leaves remain until they are due: up to 15.)
std::int64_t period_length(std::int64_t retention);

// The period of that length, aligned to the epoch, that contains `time` (also before the epoch).
Period period_of(std::int64_t time, std::int64_t length);

// The leaves missing at `now`: the current period and the next two. Each starts at `covered_until`
// (the latest end of an existing leaf, nothing if there is none) if that is later than its own
// start; fully covered periods are omitted. So a changed retention never makes leaves overlap.
std::vector<Period> missing_periods(std::int64_t now, std::int64_t length,
                                    std::optional<std::int64_t> covered_until);

// Returns whether a leaf may be dropped: its youngest possible row is older than the retention (end
// + retention <= now).
bool is_due(const Period &period, std::int64_t now, std::int64_t retention);

// The start in UTC, as short as is exact (whole day, whole hour, minute): "p20261121",
// "p2026112113" or "p202611211305".
std::string leaf_suffix(const Period &period);

}  // namespace hipq::core
