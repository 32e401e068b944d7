// Decides the verdict, job by job.
#include "core/recovery/crash_report.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace hipq::core {

namespace {

enum class Role : std::uint8_t { bystander, suspect, culprit };

using Cases = std::map<std::pair<std::uint32_t, std::int64_t>, CrashCase>;  // by database and job

std::size_t unmarked_jobs(const FlightLog &log)
{
    std::size_t jobs = 0;
    for (const FlightSlotRead &slot : log.slots)
        jobs += slot.mark == QuitMark::none ? slot.jobs.size() : 0;
    return jobs;
}

Role role_of(const FlightSlotRead &slot, EndOfLife end, std::size_t suspects)
{
    if (end != EndOfLife::crash || slot.mark != QuitMark::none)
        return Role::bystander;
    return suspects == 1 ? Role::culprit : Role::suspect;
}

std::size_t unmarked_slots(const FlightLog &log)
{
    return static_cast<std::size_t>(
        std::ranges::count(log.slots, QuitMark::none, &FlightSlotRead::mark));
}

std::uint8_t one_more(std::uint8_t count)
{
    return count < std::numeric_limits<std::uint8_t>::max() ? count + 1 : count;
}

// Attempt 0 means that a retry handler ran. When it is called again, it may run beside others: only
// jobs run alone.
void convict(CrashCase &entry, Role role)
{
    entry.runs_alone = entry.attempt > 0 && (entry.runs_alone != 0 || role != Role::bystander);
    entry.charge_due = role == Role::culprit;
    entry.return_due = role != Role::culprit;
}

void witness(CrashCase &entry)
{
    entry.sightings = one_more(entry.sightings);
    if (entry.sightings >= sightings_of_a_suspect && entry.attempt > 0)
        entry.runs_alone = 1;
}

// A case whose charge is still due stays unchanged: its job cannot have run since.
void add(Cases &cases, const FlightSlotRead &slot, const FlightJob &job, Role role,
         bool is_sighting)
{
    CrashCase &entry = cases[{slot.database, job.id}];
    if (entry.charge_due != 0)
        return;
    entry.job_id = job.id;
    entry.started = slot.started;
    entry.database = slot.database;
    entry.queue_id = slot.queue_id;
    entry.attempt = job.attempt;
    entry.pid = slot.pid;
    convict(entry, role);
    if (is_sighting)
        witness(entry);
}

// The first job of each crashed process represents its job type. A type can be blamed if all were
// of one type; code that knows the types of one queue's jobs can tell, so note whether all were of
// one queue.
void blame_types(Cases &cases, const FlightLog &log, std::int64_t now)
{
    const auto is_suspect = [](const FlightSlotRead &slot) { return slot.mark == QuitMark::none; };
    const auto first = std::ranges::find_if(log.slots, is_suspect);
    const bool is_one_queue = std::ranges::all_of(log.slots, [&](const FlightSlotRead &slot) {
        return !is_suspect(slot) ||
               (slot.database == first->database && slot.queue_id == first->queue_id);
    });
    for (const FlightSlotRead &slot : log.slots) {
        if (!is_suspect(slot))
            continue;
        CrashCase &entry = cases[{slot.database, slot.jobs.front().id}];
        entry.crashed = now;
        entry.with_others = is_one_queue ? 0 : 1;
    }
}

// Normalizes flags, because a file may contain anything.
CrashCase normal(CrashCase entry)
{
    entry.charge_due = entry.charge_due != 0;
    entry.return_due = entry.return_due != 0;
    entry.runs_alone = entry.runs_alone != 0;
    entry.with_others = entry.with_others != 0;
    return entry;
}

int weight(const CrashCase &entry)
{
    return (entry.crashed != 0 ? 16 : 0) + (entry.charge_due != 0 ? 8 : 0) +
           (entry.runs_alone != 0 ? 4 : 0) + (entry.sightings != 0 ? 2 : 0) +
           (entry.return_due != 0 ? 1 : 0);
}

}  // namespace

EndOfLife end_of_life(const FlightLog &log, bool same_server)
{
    const auto has_mark = [&](QuitMark mark) {
        return std::ranges::any_of(log.slots,
                                   [&](const FlightSlotRead &slot) { return slot.mark == mark; });
    };
    if (same_server || log.quit_for_crash || has_mark(QuitMark::crash))
        return EndOfLife::crash;
    return log.quit_for_stop || has_mark(QuitMark::stop) ? EndOfLife::stop : EndOfLife::killed;
}

std::vector<CrashCase> judge(const FlightLog &log, EndOfLife end, std::int64_t now)
{
    Cases cases;
    for (const CrashCase &entry : log.cases)
        if (is_open(entry))
            cases.try_emplace({entry.database, entry.job_id}, normal(entry));
    const std::size_t suspects = unmarked_jobs(log);
    const bool is_sighting = end == EndOfLife::killed || (end == EndOfLife::crash && suspects == 0);
    for (const FlightSlotRead &slot : log.slots)
        for (const FlightJob &job : slot.jobs)
            add(cases, slot, job, role_of(slot, end, suspects), is_sighting);
    if (end == EndOfLife::crash)
        blame_types(cases, log, now);
    std::vector<CrashCase> result;
    for (const auto &entry : cases)
        result.push_back(entry.second);
    std::ranges::stable_sort(result, std::ranges::greater(), weight);
    return result;
}

CrashStreak streak_after(const FlightLog &log, EndOfLife end, std::int64_t now)
{
    if (end != EndOfLife::crash || unmarked_slots(log) == 0)
        return log.streak;
    const bool goes_on = log.streak.count > 0 && now - log.streak.last < crash_window;
    return {now, goes_on ? log.streak.count + 1 : 1};
}

std::int64_t suspect_pause(CrashStreak streak, std::int64_t first_pause)
{
    constexpr std::int64_t most_doublings = 16;
    if (streak.count <= 0)
        return 0;
    return std::min(first_pause << std::min(streak.count - 1, most_doublings),
                    longest_suspect_pause);
}

CrashCase resolved(CrashCase entry)
{
    entry.charge_due = 0;
    entry.return_due = 0;
    return entry;
}

bool is_earlier_suspect(const CrashCase &entry)
{
    return entry.runs_alone != 0 && entry.sightings < sightings_of_a_suspect &&
           entry.charge_due == 0 && entry.return_due == 0;
}

bool is_open(const CrashCase &entry)
{
    return entry.crashed != 0 || entry.charge_due != 0 || entry.return_due != 0 ||
           entry.runs_alone != 0 || entry.sightings != 0;
}

}  // namespace hipq::core
