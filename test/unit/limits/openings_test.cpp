// When time windows open: days with clock changes case by case, and one year minute by minute.
#include "core/limits/openings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>

namespace hipq::core {
namespace {

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t minute = 60 * second;
constexpr std::int64_t hour = 60 * minute;
constexpr std::int64_t day = 24 * hour;
constexpr std::int64_t epoch = 946'684'800;  // 2000-01-01 as Unix time

// "2026-03-29 02:30" as microseconds since 2000-01-01, in any zone.
std::int64_t at(const std::string &text)
{
    std::tm tm{};
    if (::strptime(text.c_str(), "%Y-%m-%d %H:%M", &tm) == nullptr)
        ADD_FAILURE() << text;
    return (::timegm(&tm) - epoch) * second;
}

std::string text_of(std::int64_t time)
{
    if (time == never)
        return "never";
    const std::time_t unix_time = time / second + epoch;
    std::tm tm{};
    ::gmtime_r(&unix_time, &tm);
    char text[20];
    std::strftime(text, sizeof(text), time % minute == 0 ? "%Y-%m-%d %H:%M" : "%Y-%m-%d %H:%M:%S",
                  &tm);
    return text;
}

// A zone, defined by its changes.
struct Change {
    std::int64_t time;  // UTC
    std::int64_t offset;
};
class ListedZone final : public Zone {
public:
    ListedZone(std::int64_t first_offset, std::vector<Change> changes)
        : first_offset_(first_offset), changes_(std::move(changes))
    {
    }
    Span at(std::int64_t time) const override
    {
        std::int64_t offset = first_offset_;
        for (const Change &change : changes_) {
            if (time < change.time)
                return {offset, change.time};
            offset = change.offset;
        }
        return {offset, never};
    }
    const std::vector<Change> &changes() const { return changes_; }

private:
    std::int64_t first_offset_;
    std::vector<Change> changes_;
};

// The changes of the tz database for 2026.
const ListedZone utc(0, {});
const ListedZone new_york(-5 * hour, {{at("2026-03-08 07:00"), -4 * hour},
                                      {at("2026-11-01 06:00"), -5 * hour}});
const ListedZone berlin(1 * hour,
                        {{at("2026-03-29 01:00"), 2 * hour}, {at("2026-10-25 01:00"), 1 * hour}});
const ListedZone lord_howe(11 * hour, {{at("2026-04-04 15:00"), 10 * hour + 30 * minute},
                                       {at("2026-10-03 15:30"), 11 * hour}});
const ListedZone casablanca(1 * hour,
                            {{at("2026-02-15 02:00"), 0}, {at("2026-03-22 02:00"), 1 * hour}});
// Two zones that change at midnight: Havana repeats the hour before 01:00; Samoa skipped a day.
const ListedZone havana(-5 * hour,
                        {{at("2026-03-08 05:00"), -4 * hour}, {at("2026-11-01 05:00"), -5 * hour}});
const ListedZone beirut(2 * hour,
                        {{at("2026-03-28 22:00"), 3 * hour}, {at("2026-10-24 21:00"), 2 * hour}});
const ListedZone apia(-10 * hour, {{at("2011-12-30 10:00"), 14 * hour}});

TimeWindows windows(std::string_view text)
{
    const auto parsed = parse_time_windows(text);
    return std::holds_alternative<TimeWindows>(parsed) ? std::get<TimeWindows>(parsed)
                                                       : TimeWindows{};
}

std::string show(const Opening &opening)
{
    return text_of(opening.from) + " to " + text_of(opening.until);
}

// ---- cases ----

struct Case {
    const char *what;
    const ListedZone &zone;
    const char *windows;
    const char *asked;    // UTC
    const char *opening;  // UTC
};

const Case cases[]{
    {"no windows", utc, "NONE", "2026-06-01 12:00", "2026-06-01 12:00 to never"},
    {"all day, each day", utc, "00:00-24:00", "2026-06-01 12:00", "2026-06-01 12:00 to never"},
    {"each day of the week", berlin, "mon-sun", "2026-03-28 12:00", "2026-03-28 12:00 to never"},
    {"together all the time", berlin, "06:00-22:00, 22:00-06:00", "2026-10-24 12:00",
     "2026-10-24 12:00 to never"},
    {"before", utc, "09:00-17:00", "2026-06-01 08:59", "2026-06-01 09:00 to 2026-06-01 17:00"},
    {"at its beginning", utc, "09:00-17:00", "2026-06-01 09:00",
     "2026-06-01 09:00 to 2026-06-01 17:00"},
    {"within", utc, "09:00-17:00", "2026-06-01 16:59", "2026-06-01 16:59 to 2026-06-01 17:00"},
    {"at its end", utc, "09:00-17:00", "2026-06-01 17:00", "2026-06-02 09:00 to 2026-06-02 17:00"},
    {"over midnight, before it", utc, "22:00-06:00", "2026-06-01 23:00",
     "2026-06-01 23:00 to 2026-06-02 06:00"},
    {"over midnight, after it", utc, "22:00-06:00", "2026-06-01 05:00",
     "2026-06-01 05:00 to 2026-06-01 06:00"},
    {"over midnight, of its day", utc, "sun 22:00-06:00", "2026-06-01 05:00",
     "2026-06-01 05:00 to 2026-06-01 06:00"},
    {"over midnight, of another day", utc, "mon 22:00-06:00", "2026-06-01 05:00",
     "2026-06-01 22:00 to 2026-06-02 06:00"},
    {"next week", utc, "mon 09:00-10:00", "2026-06-01 10:00",
     "2026-06-08 09:00 to 2026-06-08 10:00"},
    {"days one after the other", utc, "mon-fri", "2026-05-31 10:00",
     "2026-06-01 00:00 to 2026-06-06 00:00"},
    {"all days but one", utc, "tue-sun", "2026-06-01 10:00",
     "2026-06-02 00:00 to 2026-06-08 00:00"},
    {"the nearest of several", utc, "sat, 12:00-13:00, wed 08:00-09:00", "2026-06-02 14:00",
     "2026-06-03 08:00 to 2026-06-03 09:00"},
    {"windows that overlap", utc, "09:00-12:00, 11:00-14:00, 14:00-15:00", "2026-06-01 07:00",
     "2026-06-01 09:00 to 2026-06-01 15:00"},
    {"another zone", new_york, "mon-fri 09:00-17:00", "2026-06-01 12:00",
     "2026-06-01 13:00 to 2026-06-01 21:00"},
    {"a day of another zone", lord_howe, "mon", "2026-06-07 13:00",
     "2026-06-07 13:30 to 2026-06-08 13:30"},

    // 2026-03-08 in New York: 02:00 is followed by 03:00.
    {"gap before", new_york, "01:00-02:00", "2026-03-08 05:30",
     "2026-03-08 06:00 to 2026-03-08 07:00"},
    {"gap at the end", new_york, "01:00-02:30", "2026-03-08 05:30",
     "2026-03-08 06:00 to 2026-03-08 07:00"},
    {"gap in the middle", new_york, "01:00-05:00", "2026-03-08 05:30",
     "2026-03-08 06:00 to 2026-03-08 09:00"},
    {"gap at the beginning", new_york, "02:30-05:00", "2026-03-08 05:30",
     "2026-03-08 07:00 to 2026-03-08 09:00"},
    {"all in the gap", new_york, "02:15-02:45", "2026-03-08 05:30",
     "2026-03-08 07:00 to 2026-03-08 07:30"},
    {"is the gap", new_york, "02:00-03:00", "2026-03-08 05:30",
     "2026-03-08 07:00 to 2026-03-08 08:00"},
    {"open at the end of the gap", new_york, "02:15-02:45", "2026-03-08 07:00",
     "2026-03-08 07:00 to 2026-03-08 07:30"},
    {"once only", new_york, "02:15-02:45", "2026-03-08 07:30",
     "2026-03-09 06:15 to 2026-03-09 06:45"},
    {"of the day before", new_york, "sat 22:00-02:30", "2026-03-08 02:00",
     "2026-03-08 03:00 to 2026-03-08 07:00"},
    {"by its day", new_york, "sun 02:30-03:30", "2026-03-08 05:30",
     "2026-03-08 07:00 to 2026-03-08 07:30"},
    {"a day of 23 hours", new_york, "sun", "2026-03-07 12:00",
     "2026-03-08 05:00 to 2026-03-09 04:00"},
    // 2026-11-01 in New York: 02:00 is followed by 01:00.
    {"from comes twice", new_york, "01:30-05:00", "2026-11-01 04:00",
     "2026-11-01 05:30 to 2026-11-01 10:00"},
    {"to comes twice", new_york, "00:00-01:30", "2026-10-31 20:00",
     "2026-11-01 04:00 to 2026-11-01 05:30"},
    {"both come twice", new_york, "01:15-01:45", "2026-11-01 04:00",
     "2026-11-01 05:15 to 2026-11-01 05:45"},
    {"does not open again", new_york, "01:15-01:45", "2026-11-01 05:45",
     "2026-11-02 06:15 to 2026-11-02 06:45"},
    {"closed where it comes again", new_york, "01:15-01:45", "2026-11-01 06:20",
     "2026-11-02 06:15 to 2026-11-02 06:45"},
    {"ends where it comes again", new_york, "01:00-02:00", "2026-11-01 04:00",
     "2026-11-01 05:00 to 2026-11-01 07:00"},
    {"begins where it comes again", new_york, "02:00-03:00", "2026-11-01 04:00",
     "2026-11-01 07:00 to 2026-11-01 08:00"},
    {"a day of 25 hours", new_york, "sun", "2026-10-31 12:00",
     "2026-11-01 04:00 to 2026-11-02 05:00"},

    // Berlin: 2026-03-29, 02:00 is followed by 03:00; 2026-10-25, 03:00 by 02:00.
    {"gap", berlin, "02:30-04:00", "2026-03-28 12:00", "2026-03-29 01:00 to 2026-03-29 02:00"},
    {"night over the gap", berlin, "22:00-06:00", "2026-03-28 12:00",
     "2026-03-28 21:00 to 2026-03-29 04:00"},
    {"overlap", berlin, "02:30-04:00", "2026-10-24 12:00", "2026-10-25 00:30 to 2026-10-25 03:00"},
    {"night over the overlap", berlin, "22:00-06:00", "2026-10-24 12:00",
     "2026-10-24 20:00 to 2026-10-25 05:00"},
    {"closes the first time", berlin, "22:00-02:30", "2026-10-24 12:00",
     "2026-10-24 20:00 to 2026-10-25 00:30"},

    // Lord Howe: 2026-10-04, 02:00 is followed by 02:30; 2026-04-05, 02:00 by 01:30.
    {"short gap", lord_howe, "02:15-03:00", "2026-10-03 12:00",
     "2026-10-03 15:30 to 2026-10-03 16:00"},
    {"all in the short gap", lord_howe, "02:10-02:20", "2026-10-03 12:00",
     "2026-10-03 15:30 to 2026-10-03 15:40"},
    {"longer than the short gap", lord_howe, "01:50-02:40", "2026-10-03 12:00",
     "2026-10-03 15:20 to 2026-10-03 15:40"},
    {"short overlap", lord_howe, "01:45-03:00", "2026-04-04 12:00",
     "2026-04-04 14:45 to 2026-04-04 16:30"},
    {"all in the short overlap", lord_howe, "01:35-01:40", "2026-04-04 12:00",
     "2026-04-04 14:35 to 2026-04-04 14:40"},

    // Casablanca: an hour less in Ramadan. 2026-02-15, 03:00 is followed by 02:00; 2026-03-22,
    // 02:00 by 03:00.
    {"Ramadan begins", casablanca, "02:30-04:00", "2026-02-14 12:00",
     "2026-02-15 01:30 to 2026-02-15 04:00"},
    {"in Ramadan", casablanca, "02:30-04:00", "2026-03-01 12:00",
     "2026-03-02 02:30 to 2026-03-02 04:00"},
    {"Ramadan ends", casablanca, "02:30-04:00", "2026-03-21 12:00",
     "2026-03-22 02:00 to 2026-03-22 03:00"},
    {"after Ramadan", casablanca, "02:30-04:00", "2026-03-22 12:00",
     "2026-03-23 01:30 to 2026-03-23 03:00"},

    // Midnight is skipped, or the previous day returns for an hour.
    {"midnight in the gap", havana, "sun", "2026-03-07 12:00",
     "2026-03-08 05:00 to 2026-03-09 04:00"},
    {"midnight comes twice", havana, "sun", "2026-10-31 12:00",
     "2026-11-01 04:00 to 2026-11-02 05:00"},
    {"the last hour comes twice", beirut, "sat 23:00-24:00", "2026-10-24 12:00",
     "2026-10-24 20:00 to 2026-10-24 22:00"},
    {"midnight comes once", beirut, "sun 00:00-01:00", "2026-10-24 12:00",
     "2026-10-24 22:00 to 2026-10-24 23:00"},
    {"a day that was left out", apia, "fri 09:00-17:00", "2011-12-29 12:00",
     "2011-12-30 10:00 to 2011-12-30 18:00"},
};

TEST(Openings, Cases)
{
    for (const Case &each : cases)
        EXPECT_EQ(show(next_opening(windows(each.windows), each.zone, at(each.asked))),
                  each.opening)
            << each.what << ": " << each.windows;
}

TEST(Openings, CountMicroseconds)
{
    const TimeWindows office = windows("09:00-17:00");
    const std::int64_t nine = at("2026-06-01 09:00");
    EXPECT_EQ(next_opening(office, utc, nine - 1).from, nine);
    EXPECT_EQ(next_opening(office, utc, nine + 8 * hour - 1),
              (Opening{nine + 8 * hour - 1, nine + 8 * hour}));
    EXPECT_EQ(next_opening(office, utc, nine + 8 * hour).from, nine + day);
}

TEST(Openings, AreFoundBeforeTheYear2000)
{
    EXPECT_EQ(show(next_opening(windows("sat 09:00-17:00"), utc, at("1999-12-25 08:00"))),
              "1999-12-25 09:00 to 1999-12-25 17:00");
}

// ---- a year ----

// Minute by minute, with a clock that stands still while the zone's clock is set back.
class Reference {
public:
    Reference(const TimeWindows &windows, const ListedZone &zone, std::int64_t from,
              std::int64_t until)
        : windows_(windows), from_(from)
    {
        std::int64_t shown = from + zone.at(from).offset;
        for (std::int64_t time = from; time < until; time += minute) {
            const std::int64_t clock = time + zone.at(time).offset;
            if (clock > shown + minute)
                note_left_out(time, shown + minute, clock);
            shown = std::max(shown, clock);
            is_open_.push_back(is_in_window(shown) || is_made_up_for(time));
        }
    }
    bool is_open(std::int64_t time) const
    {
        return is_open_.at(static_cast<std::size_t>((time - from_) / minute));
    }

private:
    static std::int64_t length(const TimeWindow &window)
    {
        return (window.to - window.from) * minute + (window.to < window.from ? day : 0);
    }
    template <class Use>
    void for_each_local(std::int64_t shown, Use use) const
    {
        for (const TimeWindow &window : windows_)
            for (std::int64_t date = shown / day - 1; date <= shown / day; ++date)
                if ((window.days >> ((date + 5) % 7) & 1) != 0)
                    use(date * day + window.from * minute, length(window));
    }
    bool is_in_window(std::int64_t shown) const
    {
        bool is_in = false;
        for_each_local(shown, [&](std::int64_t begin, std::int64_t size) {
            is_in = is_in || (begin <= shown && shown < begin + size);
        });
        return is_in;
    }
    // The clock jumps from `first` to `last`.
    void note_left_out(std::int64_t time, std::int64_t first, std::int64_t last)
    {
        for_each_local(last, [&](std::int64_t begin, std::int64_t size) {
            if (first <= begin && begin + size <= last)
                made_up_for_.push_back({time, time + size});
        });
    }
    bool is_made_up_for(std::int64_t time) const
    {
        return std::any_of(made_up_for_.begin(), made_up_for_.end(), [&](const Opening &opening) {
            return opening.from <= time && time < opening.until;
        });
    }

    const TimeWindows &windows_;
    std::int64_t from_;
    std::vector<bool> is_open_{};
    std::vector<Opening> made_up_for_{};
};

void walk_through_2026(const TimeWindows &windows, const ListedZone &zone)
{
    const std::int64_t from = at("2026-01-01 00:00");
    const std::int64_t until = at("2027-01-01 00:00");
    const Reference reference(windows, zone, from, until);
    for (std::int64_t time = from; time < until;) {
        const Opening opening = next_opening(windows, zone, time);
        ASSERT_LE(time, opening.from);
        ASSERT_LT(opening.from, opening.until);
        for (; time < std::min(opening.until, until); time += minute)
            ASSERT_EQ(reference.is_open(time), time >= opening.from)
                << canonical(windows) << " at " << text_of(time);
        ASSERT_FALSE(time < until && reference.is_open(time))
            << canonical(windows) << " at " << text_of(time);
    }
    // The answer is the same whenever it is computed, especially around clock changes.
    std::vector<std::int64_t> moments;
    for (const Change &change : zone.changes())
        for (std::int64_t time = change.time - 2 * hour; time < change.time + 3 * hour;
             time += 5 * minute)
            moments.push_back(time);
    for (const std::int64_t time : moments) {
        const Opening opening = next_opening(windows, zone, time);
        ASSERT_EQ(opening.from == time, reference.is_open(time))
            << canonical(windows) << " at " << text_of(time);
    }
}

TEST(Openings, AreThoseOfAClockThatNeverGoesBack)
{
    std::mt19937 random(1);
    const auto number = [&](int limit) {
        return static_cast<int>(random() % static_cast<unsigned>(limit));
    };
    for (const ListedZone *zone :
         {&utc, &new_york, &berlin, &lord_howe, &casablanca, &havana, &beirut})
        for (int round = 0; round < 8; ++round) {
            TimeWindows some;
            for (int count = 1 + number(3); count > 0; --count) {
                // Half of them are short and at night, when clocks change.
                const bool at_night = number(2) == 0;
                const int from = at_night ? 5 * number(4 * 12) : number(1440);
                const int to = at_night ? from + 5 * (1 + number(12)) : number(1440) + 1;
                if (from != to)
                    some.push_back({static_cast<std::uint8_t>(1 + number(127)),
                                    static_cast<std::int16_t>(from),
                                    static_cast<std::int16_t>(to)});
            }
            if (!some.empty())
                walk_through_2026(some, *zone);
        }
}

}  // namespace
}  // namespace hipq::core
