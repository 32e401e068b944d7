// Searches for runs from one clock change to the next, and decides about runs that are due.
#include "core/schedules/schedule_times.hpp"

#include <algorithm>
#include <array>

namespace hipq::core {

namespace {

// A clock that is changed by more has been corrected.
constexpr std::int64_t longest_change = 3 * microseconds_per_hour;

std::int64_t next_multiple(std::int64_t time, std::int64_t unit)
{
    const std::int64_t rest = (time % unit + unit) % unit;
    return time - rest + unit;
}

// Walks over the spans between clock changes, and knows up to which local time the clock has been.
class FixedTimes {
public:
    // No earlier change matters to a time after `after`: a repeated hour is over by then.
    FixedTimes(const Cron &cron, const Zone &zone, std::int64_t after)
        : cron_(cron), zone_(zone), after_(after), start_(after - longest_change),
          span_(zone.at(start_)), shown_(start_ + span_.offset)
    {
    }

    std::optional<std::int64_t> find()
    {
        const std::int64_t end = after_ + most_days * microseconds_per_day;
        while (start_ < end) {
            if (const auto run = run_in_span())
                return run;
            if (span_.end == never)
                return std::nullopt;
            if (change_clock() && has_skipped_run() && start_ > after_)
                return start_;
            shown_ = std::max(shown_, start_ + span_.offset);
        }
        return std::nullopt;
    }

private:
    // Goes on to the next span. Returns whether the clock has skipped a time.
    bool change_clock()
    {
        const std::int64_t before = span_.end + span_.offset;
        start_ = span_.end;
        span_ = zone_.at(start_);
        const std::int64_t now = start_ + span_.offset;
        const bool is_correction = now - before > longest_change || before - now > longest_change;
        shown_ = is_correction ? now : std::max(shown_, before);
        return shown_ < now;
    }

    bool has_skipped_run() const
    {
        const auto local = next_local_run(cron_, shown_);
        return local.has_value() && *local < start_ + span_.offset;
    }

    std::optional<std::int64_t> run_in_span() const
    {
        const std::int64_t from = std::max(shown_, std::max(start_, after_ + 1) + span_.offset);
        const auto local = next_local_run(cron_, from);
        if (!local.has_value())
            return std::nullopt;
        const std::int64_t run = *local - span_.offset;
        return run < span_.end ? std::optional(run) : std::nullopt;
    }

    const Cron &cron_;
    const Zone &zone_;
    std::int64_t after_;
    std::int64_t start_;  // of the span
    Zone::Span span_;
    std::int64_t shown_;  // every local time before it has been, or is not made up for
};

// Scatters the bits, so that neighbouring values get unrelated results.
std::uint64_t scattered(std::uint64_t value)  // splitmix64
{
    value += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

constexpr std::array<std::pair<std::string_view, Missed>, 3> names_of_missed{
    {{"once", Missed::once}, {"skip", Missed::skip}, {"all", Missed::all}}};

constexpr std::array<std::pair<std::string_view, Overlap>, 3> names_of_overlap{
    {{"skip", Overlap::skip}, {"after", Overlap::after}, {"allow", Overlap::allow}}};

template <class Names>
auto value_of(const Names &names, std::string_view text)
    -> std::optional<typename Names::value_type::second_type>
{
    for (const auto &[name, value] : names)
        if (name == text)
            return value;
    return std::nullopt;
}

std::int64_t start_of(const DueRuns &due, std::int64_t run)
{
    if (due.jitter <= 0)
        return run;
    const std::int64_t next = next_own_run(due.cron, due.zone, run).value_or(never);
    return run + jitter_of(due.schedule_id, run, next, due.jitter);
}

// The last `most` runs that are due and not before `from`.
std::vector<std::int64_t> last_due_runs(const DueRuns &due, std::int64_t from, std::int64_t now,
                                        std::size_t most)
{
    std::vector<std::int64_t> runs =
        last_own_runs(due.cron, due.zone, from - 1, std::min(now, due.ends), most + 1);
    if (!runs.empty() && start_of(due, runs.back()) > now)
        runs.pop_back();
    if (runs.size() > most)
        runs.erase(runs.begin());
    return runs;
}

}  // namespace

std::optional<std::int64_t> next_own_run(const Cron &cron, const Zone &zone, std::int64_t after)
{
    if (cron.seconds > 0)
        return next_multiple(after, cron.seconds * microseconds_per_second);
    if (!cron.has_fixed_times)
        return next_run(cron, zone, after);
    return FixedTimes(cron, zone, after).find();
}

// Looks back further and further, so that it goes over few more runs than it returns.
std::vector<std::int64_t> last_own_runs(const Cron &cron, const Zone &zone, std::int64_t after,
                                        std::int64_t until, std::size_t most)
{
    std::vector<std::int64_t> runs;
    for (std::int64_t back = microseconds_per_minute;; back *= 2) {
        const std::int64_t from = std::max(after, until - back);
        runs.clear();
        for (auto run = next_own_run(cron, zone, from); run.has_value() && *run <= until;
             run = next_own_run(cron, zone, *run))
            runs.push_back(*run);
        if (runs.size() >= most || from == after || back > most_days * microseconds_per_day)
            break;
    }
    if (runs.size() > most)
        runs.erase(runs.begin(), runs.end() - static_cast<std::ptrdiff_t>(most));
    return runs;
}

std::int64_t jitter_of(int schedule_id, std::int64_t run, std::int64_t next_run,
                       std::int64_t jitter)
{
    const std::int64_t longest = std::min(jitter, next_run == never ? never : next_run - run);
    if (longest <= 0)
        return 0;
    const std::uint64_t drawn = scattered(scattered(static_cast<std::uint64_t>(schedule_id)) ^
                                          static_cast<std::uint64_t>(run));
    return static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(longest));
}

std::optional<Missed> parse_missed(std::string_view text)
{
    return value_of(names_of_missed, text);
}

std::string_view name(Missed missed)
{
    return names_of_missed[static_cast<std::size_t>(missed)].first;
}

std::optional<Overlap> parse_overlap(std::string_view text)
{
    return value_of(names_of_overlap, text);
}

std::string_view name(Overlap overlap)
{
    return names_of_overlap[static_cast<std::size_t>(overlap)].first;
}

Plan plan_runs(const DueRuns &due, Missed missed, std::int64_t within, std::int64_t now)
{
    const std::size_t most = missed == Missed::all ? most_missed_runs : 1;
    // One more shows whether there are too many.
    std::vector<std::int64_t> runs = last_due_runs(due, due.first, now, most + 1);
    if (runs.empty())
        runs.push_back(due.first);  // it was due before something was changed
    Plan plan{{}, runs.back(), false};
    const bool is_on_time = start_of(due, runs.back()) + longest_delay >= now;
    std::erase_if(runs, [&](std::int64_t run) {
        const bool is_made_up = missed != Missed::skip && run >= now - within;
        return !is_made_up && !(is_on_time && run == plan.last_due);
    });
    plan.has_too_many = missed == Missed::all && runs.size() > most;
    if (runs.size() > most)
        runs.erase(runs.begin());
    plan.runs = std::move(runs);
    return plan;
}

}  // namespace hipq::core
