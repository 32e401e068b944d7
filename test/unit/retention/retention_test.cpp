// Leaves by time: the calendar arithmetic, and simulated maintenance over years, with a change of
// the retention midway.
#include "core/retention/retention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

namespace hipq::core {
namespace {

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t minute = 60 * second;
constexpr std::int64_t hour = 60 * minute;
constexpr std::int64_t day = 24 * hour;
constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t earliest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t november_21_2026 = 1'795'219'200 * second;

constexpr std::int64_t retentions[]{
    1,          second,      30 * second,    minute,     minute + 1,
    2 * minute, 4 * minute,  4 * minute + 1, 5 * minute, 59 * minute,
    hour,       90 * minute, 4 * hour - 1,   4 * hour,   4 * hour + 1,
    5 * hour,   7 * hour,    day - 1,        day,        day + 1,
    36 * hour,  3 * day,     4 * day - 1,    4 * day,    4 * day + 1,
    5 * day,    7 * day,     8 * day,        9 * day,    30 * day,
    31 * day,   365 * day,   3650 * day,
};

// The leaves of one queue without the default leaf, and their maintenance.
class Leaves {
public:
    void maintain(std::int64_t now, std::int64_t retention)
    {
        std::erase_if(periods_,
                      [&](const Period &period) { return is_due(period, now, retention); });
        for (const Period &period :
             missing_periods(now, period_length(retention), covered_until())) {
            periods_.push_back(period);
            EXPECT_TRUE(names_.insert(leaf_suffix(period)).second) << leaf_suffix(period);
        }
    }

    std::size_t count_with_default() const { return periods_.size() + 1; }

    bool covers(std::int64_t time) const
    {
        return std::ranges::any_of(periods_, [&](const Period &period) {
            return period.start <= time && time < period.end;
        });
    }

    // In order, none empty, none overlapping another.
    bool is_sound() const
    {
        for (std::size_t i = 0; i < periods_.size(); ++i) {
            if (periods_[i].start >= periods_[i].end ||
                (i > 0 && periods_[i - 1].end > periods_[i].start))
                return false;
        }
        return true;
    }

private:
    std::optional<std::int64_t> covered_until() const
    {
        if (periods_.empty())
            return std::nullopt;
        return periods_.back().end;
    }

    std::vector<Period> periods_;
    std::set<std::string> names_;
};

TEST(Retention, PeriodLengths)
{
    const std::pair<std::int64_t, std::int64_t> cases[]{
        {1, minute},           {second, minute},
        {4 * minute, minute},  {4 * minute + 1, 2 * minute},
        {hour, 15 * minute},   {90 * minute, 23 * minute},
        {4 * hour, hour},      {4 * hour + 1, 2 * hour},
        {day, 6 * hour},       {36 * hour, 9 * hour},
        {4 * day, day},        {4 * day + 1, 2 * day},
        {7 * day, 2 * day},    {8 * day, 2 * day},
        {9 * day, 3 * day},    {30 * day, 8 * day},
        {365 * day, 92 * day},
    };
    for (const auto &[retention, length] : cases)
        EXPECT_EQ(period_length(retention), length) << retention;
}

TEST(Retention, PeriodLengthIsAWholeUnitAndAtLeastAQuarter)
{
    std::mt19937_64 random{1};
    for (int i = 0; i < 100'000; ++i) {
        const std::int64_t retention = static_cast<std::int64_t>(random() >> (1 + random() % 60));
        const std::int64_t unit = retention > 4 * day ? day : retention > 4 * hour ? hour : minute;
        const std::int64_t length = period_length(retention);
        ASSERT_EQ(length % unit, 0) << retention;
        ASSERT_GE(length, retention / 4) << retention;
        ASSERT_LE(length, retention / 4 + 1 + unit) << retention;
    }
}

TEST(Retention, PeriodLengthOfNonsenseAndForEver)
{
    EXPECT_EQ(period_length(0), minute);
    EXPECT_EQ(period_length(-day), minute);
    EXPECT_EQ(period_length(earliest), minute);
    EXPECT_GE(period_length(latest), latest / 4);
}

TEST(Retention, PeriodsAreAlignedToTheEpoch)
{
    EXPECT_EQ(period_of(0, day), (Period{0, day}));
    EXPECT_EQ(period_of(day - 1, day), (Period{0, day}));
    EXPECT_EQ(period_of(day, day), (Period{day, 2 * day}));
    EXPECT_EQ(period_of(-1, day), (Period{-day, 0}));
    EXPECT_EQ(period_of(-day, day), (Period{-day, 0}));
    EXPECT_EQ(period_of(-day - 1, day), (Period{-2 * day, -day}));
    EXPECT_EQ(period_of(november_21_2026 + 13 * hour, 3 * hour),
              (Period{november_21_2026 + 12 * hour, november_21_2026 + 15 * hour}));
}

TEST(Retention, PeriodsAtTheEndsOfTime)
{
    for (std::int64_t time : {latest, latest - 1, earliest, earliest + 1}) {
        const Period period = period_of(time, 92 * day);
        EXPECT_LE(period.start, time);
        EXPECT_GE(period.end, time);
    }
    EXPECT_TRUE(missing_periods(latest, day, latest).empty());
    for (const Period &period : missing_periods(latest - day, day, std::nullopt))
        EXPECT_LT(period.start, period.end);
}

TEST(Retention, MissingPeriodsOfANewQueue)
{
    const std::vector<Period> expected{{0, day}, {day, 2 * day}, {2 * day, 3 * day}};
    EXPECT_EQ(missing_periods(0, day, std::nullopt), expected);
    EXPECT_EQ(missing_periods(day - 1, day, std::nullopt), expected);
}

TEST(Retention, MissingPeriodsBeforeTheEpoch)
{
    const std::vector<Period> expected{{-2 * day, -day}, {-day, 0}, {0, day}};
    EXPECT_EQ(missing_periods(-day - 1, day, std::nullopt), expected);
}

TEST(Retention, CoveredPeriodsAreLeftOut)
{
    EXPECT_TRUE(missing_periods(hour, day, 3 * day).empty());
    EXPECT_TRUE(missing_periods(hour, day, 9 * day).empty());
    EXPECT_EQ(missing_periods(day, day, 3 * day), (std::vector<Period>{{3 * day, 4 * day}}));
    EXPECT_EQ(missing_periods(2 * day, day, 3 * day),
              (std::vector<Period>{{3 * day, 4 * day}, {4 * day, 5 * day}}));
}

TEST(Retention, HalfCoveredPeriodsAreCut)
{
    const std::vector<Period> expected{{day + hour, 2 * day}, {2 * day, 3 * day}};
    EXPECT_EQ(missing_periods(hour, day, day + hour), expected);
}

TEST(Retention, AGapInThePastStaysAGap)
{
    const std::vector<Period> expected{
        {10 * day, 11 * day}, {11 * day, 12 * day}, {12 * day, 13 * day}};
    EXPECT_EQ(missing_periods(10 * day + hour, day, 3 * day), expected);
}

TEST(Retention, ALeafIsDueWhenItsYoungestRowIs)
{
    const Period period{0, day};
    EXPECT_FALSE(is_due(period, day + hour - 1, hour));
    EXPECT_TRUE(is_due(period, day + hour, hour));
    EXPECT_FALSE(is_due(period, 0, hour));
    EXPECT_TRUE(is_due(period, day, 0));
}

TEST(Retention, ForEverIsNeverDue)
{
    EXPECT_FALSE(is_due({0, day}, november_21_2026, latest));
    EXPECT_FALSE(is_due({latest - day, latest}, november_21_2026, 7 * day));
}

TEST(Retention, Suffixes)
{
    const std::pair<std::int64_t, std::string_view> cases[]{
        {november_21_2026, "p20261121"},
        {november_21_2026 + 13 * hour, "p2026112113"},
        {november_21_2026 + 13 * hour + 5 * minute, "p202611211305"},
        {november_21_2026 + 5 * minute, "p202611210005"},
        {november_21_2026 + 9 * hour, "p2026112109"},
        {0, "p19700101"},
        {-hour, "p1969123123"},
        {951'782'400 * second, "p20000229"},
        {253'402'300'799 * second, "p999912312359"},
    };
    for (const auto &[start, suffix] : cases)
        EXPECT_EQ(leaf_suffix({start, start + minute}), suffix);
}

TEST(Retention, AtMostEightLeaves)
{
    std::mt19937_64 random{20261121};
    for (std::int64_t retention : retentions) {
        const std::int64_t length = period_length(retention);
        Leaves leaves;
        std::int64_t now =
            november_21_2026 +
            static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(4 * length));
        for (int i = 0; i < 300; ++i) {
            leaves.maintain(now, retention);
            ASSERT_LE(leaves.count_with_default(), 8U) << retention;
            ASSERT_TRUE(leaves.is_sound()) << retention;
            ASSERT_TRUE(leaves.covers(now) && leaves.covers(now + 2 * length)) << retention;
            now += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length));
        }
    }
}

TEST(Retention, AtMostEightLeavesAtTheVeryBoundaries)
{
    for (std::int64_t retention : retentions) {
        const std::int64_t length = period_length(retention);
        const std::int64_t start = period_of(november_21_2026, length).start;
        Leaves leaves;
        for (int i = 0; i < 40; ++i) {
            for (std::int64_t offset :
                 {std::int64_t{0}, retention % length - 1, retention % length, length - 1}) {
                leaves.maintain(start + i * length + std::max<std::int64_t>(offset, 0), retention);
                ASSERT_LE(leaves.count_with_default(), 8U) << retention;
            }
        }
    }
}

TEST(Retention, RowsWithinTheRetentionKeepTheirLeaf)
{
    for (std::int64_t retention : retentions) {
        const std::int64_t length = period_length(retention);
        Leaves leaves;
        for (int i = 0; i < 100; ++i) {
            const std::int64_t now = november_21_2026 + i * (length / 3);
            leaves.maintain(now, retention);
            ASSERT_TRUE(leaves.covers(std::max(november_21_2026, now - retention + 1)))
                << retention;
        }
    }
}

// While leaves of an old, shorter retention wait until the new retention is over, there are more
// leaves, but never more than the leaves of both retentions together: 7 and 7 and the default leaf.
TEST(Retention, ChangedRetentionNeitherOverlapsNorStaysAboveEight)
{
    for (std::int64_t before : retentions) {
        for (std::int64_t after : retentions) {
            Leaves leaves;
            std::int64_t now = november_21_2026 + 12'345;
            for (int i = 0; i < 60; ++i, now += period_length(before) / 5)
                leaves.maintain(now, before);
            const std::int64_t resolved =
                now + 3 * period_length(before) + after + 2 * period_length(after);
            while (now < resolved + 8 * period_length(after)) {
                leaves.maintain(now, after);
                ASSERT_TRUE(leaves.is_sound()) << before << " to " << after;
                ASSERT_TRUE(leaves.covers(now)) << before << " to " << after;
                ASSERT_LE(leaves.count_with_default(), now < resolved ? 15U : 8U)
                    << before << " to " << after;
                // Long steps simulate a scheduler that sleeps; short steps would take too long: at
                // least a hundred in all.
                now += std::max(period_length(after) / 2, (resolved - now) / 100);
            }
        }
    }
}

TEST(Retention, RandomChangesNeverOverlap)
{
    std::mt19937_64 random{99};
    for (int run = 0; run < 200; ++run) {
        Leaves leaves;
        std::int64_t now = november_21_2026;
        std::int64_t retention = 7 * day;
        for (int i = 0; i < 200; ++i) {
            if (random() % 10 == 0)
                retention = retentions[random() % std::size(retentions)];
            leaves.maintain(now, retention);
            ASSERT_TRUE(leaves.is_sound());
            ASSERT_TRUE(leaves.covers(now));
            now += static_cast<std::int64_t>(random() %
                                             static_cast<std::uint64_t>(period_length(retention)));
        }
    }
}

}  // namespace
}  // namespace hipq::core
