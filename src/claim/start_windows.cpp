// Tells whether time windows are open, and when they open next.
//
// Each process parses windows once, and computes the next opening only when the last result is
// over.
#include "claim/claim.hpp"

#include "catalog/cache.hpp"
#include "pg/time_zone.hpp"

namespace hipq::claim {

namespace {

// The delay after text that cannot be parsed, or a zone that the server does not know: the rows
// were restored, or the time zone database is another one.
constexpr std::int64_t next_look_at_problem = 60'000'000;  // us

constexpr std::size_t most_kept = 1'000;
constexpr std::size_t most_known = 8;  // in one look

struct ReadWindows {
    core::TimeWindows windows;
    std::optional<pg::TimeZone> zone;
    const char *problem;
    pg::Time asked;  // for which moment `opening` was computed
    core::Opening opening;
};

constinit std::unordered_map<std::string, ReadWindows> *kept =
    nullptr;  // on the heap: no destructor at exit

ReadWindows read_windows(std::string_view text, const std::string &zone)
{
    ReadWindows result{{}, pg::TimeZone::find(zone), nullptr, pg::infinity, {}};
    auto parsed = core::parse_time_windows(text);
    if (auto *windows = std::get_if<core::TimeWindows>(&parsed))
        result.windows = std::move(*windows);
    else
        result.problem = "they cannot be read";
    if (!result.zone.has_value())
        result.problem = "the server does not know their time zone";
    return result;
}

ReadWindows &kept_windows(std::string_view text, const std::string &zone)
{
    if (kept == nullptr)
        kept = new std::unordered_map<std::string, ReadWindows>();
    const std::string key = std::string(text) + '\n' + zone;
    if (const auto found = kept->find(key); found != kept->end())
        return found->second;
    if (kept->size() >= most_kept)
        kept->clear();
    return kept->emplace(key, read_windows(text, zone)).first->second;
}

// Whether no window has opened or closed since the last computation.
bool holds(const ReadWindows &known, pg::Time now)
{
    const bool was_open = known.opening.from == known.asked.value;
    return known.asked <= now && now.value < (was_open ? known.opening.until : known.opening.from);
}

}  // namespace

StartWindow start_window(std::string_view windows, const std::string &zone, pg::Time now)
{
    ReadWindows &known = kept_windows(windows, zone);
    if (known.problem != nullptr)
        return {now + next_look_at_problem, pg::infinity, known.problem};
    if (!holds(known, now)) {
        known.opening = core::next_opening(known.windows, *known.zone, now.value);
        known.asked = now;
    }
    return {pg::Time{known.opening.from}, pg::Time{known.opening.until}};
}

std::string time_zone_of(int queue_id, std::string_view job_type)
{
    const auto present = catalog::catalogue();
    const catalog::Queue *queue = present->find(queue_id);
    const catalog::JobType *type = queue == nullptr ? nullptr : queue->find_job_type(job_type);
    return type == nullptr ? pg::default_time_zone() : type->time_zone;
}

pg::Time StartWindows::opens(std::string_view windows)
{
    const auto found = std::find_if(known_.begin(), known_.end(),
                                    [&](const Known &each) { return each.windows == windows; });
    if (found != known_.end())
        return found->opens;
    // Look up the zone here and no earlier. After a change of a type's zone, its lanes are read
    // again; a reader that had begun before sees the change here.
    if (!zone_.has_value())
        zone_ = time_zone_of(queue_id_, job_type_);
    const StartWindow window = start_window(windows, *zone_, now_);
    if (window.is_open(now_))
        first_closing_ = std::min(first_closing_, window.until);
    else
        first_opening_ = std::min(first_opening_, window.from);
    if (known_.size() < most_known)
        known_.resize(known_.size() + 1);
    known_[next_place_++ % most_known] = {std::string(windows), window.from};
    return window.from;
}

}  // namespace hipq::claim
