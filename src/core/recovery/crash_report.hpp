// Who is to blame when the server crashed, from what its flight recorder says.
//
// When a process crashes, the postmaster tells all others to quit, and each executor then marks its
// slot: whoever ran a job and bears no mark went down by itself. One such job is the culprit and is
// charged a crash. Of several, any may be: they are suspects, and run again one at a time, so that
// the next crash has one culprit. When all bear marks, something else crashed and no job is
// charged; but one that was there in two such crashes is a suspect too.
//
// What one process ran is of one job type. Where all that bear no mark ran one type, that is to
// blame as well: when a batch crashes, or several jobs of the type at once. Where they ran several,
// a type is to blame of which a suspect of an earlier crash still waits: one that does no harm has
// its suspects acquitted, and of those that do each new crash has at least one to blame.
#pragma once

#include "core/recovery/flight_log.hpp"

namespace hipq::core {

// How a life of the server ended.
enum class EndOfLife : std::uint8_t {
    crash,   // a process crashed, the postmaster took the others down
    stop,    // immediate stop
    killed,  // the postmaster was killed: nobody was told anything
};

// `same_server`: the postmaster lives on and starts everything anew, as it does after a crash only.
EndOfLife end_of_life(const FlightLog &log, bool same_server);

// The cases after that life: those that were open, and one for each job that was in flight. Those
// that matter most come first, as only max_crash_cases are kept; `check` is filled in by whoever
// stores them. `now` is when the crash is said to have been.
std::vector<CrashCase> judge(const FlightLog &log, EndOfLife end, std::int64_t now = 0);

// Crashes without a culprit that make a suspect of a job.
inline constexpr int sightings_of_a_suspect = 2;

// Crashes further apart than this have nothing to do with each other.
inline constexpr std::int64_t crash_window = 600'000'000;  // us

// Whether a type, or a handler of dead letters, with so many crashes in that time starts no more.
// No limit: 0.
constexpr bool is_held_for_crashes(int crashes, int most)
{
    return most > 0 && crashes >= most;
}

// The streak after that life: another life that handlers may have ended makes it longer.
CrashStreak streak_after(const FlightLog &log, EndOfLife end, std::int64_t now);

// How long after the latest crash no suspect starts: the pause after the first, doubled with each
// further one, for a minute at most. All in microseconds.
inline constexpr std::int64_t longest_suspect_pause = 60'000'000;
std::int64_t suspect_pause(CrashStreak streak, std::int64_t first_pause);

// What is left of a case once the job was charged and rescued as far as it had to be: whether
// it stays open, to be remembered until the job's handler comes to an end.
CrashCase resolved(CrashCase entry);
// Of a crash whose jobs are back; not of one that others only saw.
bool is_earlier_suspect(const CrashCase &entry);
bool is_open(const CrashCase &entry);

}  // namespace hipq::core
