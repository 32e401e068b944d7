// Finds out which job is to blame for a crash of the server, from its flight recorder.
//
// When a process crashes, the postmaster tells all others to quit, and each executor then marks its
// slot. A slot with jobs and without a mark belongs to a process that went down by itself. A single
// such job is the culprit and is charged with a crash. If there are several, any may be the cause:
// they are suspects, and run again one at a time, so that the next crash has one culprit. If all
// slots have marks, something else crashed and no job is charged; but a job that was in flight at
// two such crashes is a suspect too.
//
// All jobs of a process are of one job type. If all processes without a mark ran one type, the type
// is to blame as well: a batch crashed, or several jobs of the type at once. If they ran several
// types, blame the types that have a suspect of an earlier crash still waiting. Suspects of a
// harmless type are acquitted, and each new crash finds at least one of the harmful types to blame.
#pragma once

#include "core/recovery/flight_log.hpp"

namespace hipq::core {

// How a life of the server ended.
enum class EndOfLife : std::uint8_t {
    crash,   // a process crashed, and the postmaster took the others down
    stop,    // immediate stop
    killed,  // the postmaster was killed, without a signal to its processes
};

// `same_server`: the postmaster survived and restarts everything, as it does only after a crash.
EndOfLife end_of_life(const FlightLog &log, bool same_server);

// Returns the cases after that life: those that were open, and one for each job that was in flight.
// The most important come first, because only max_crash_cases are kept. The code that stores them
// fills in `check`. `now` becomes the time of the crash.
std::vector<CrashCase> judge(const FlightLog &log, EndOfLife end, std::int64_t now = 0);

// Number of crashes without a culprit after which a job is a suspect.
inline constexpr int sightings_of_a_suspect = 2;

// Crashes further apart than this are unrelated.
inline constexpr std::int64_t crash_window = 600'000'000;  // us

// Returns whether a type, or a handler of dead letters, is stopped after that many crashes within
// crash_window. `most` 0: no limit.
constexpr bool is_held_for_crashes(int crashes, int most)
{
    return most > 0 && crashes >= most;
}

// Returns the streak after that life. It grows if handlers may have ended that life.
CrashStreak streak_after(const FlightLog &log, EndOfLife end, std::int64_t now);

// Returns how long after the latest crash no suspect starts: the pause after the first, doubled
// with each further one, at most a minute. All in microseconds.
inline constexpr std::int64_t longest_suspect_pause = 60'000'000;
std::int64_t suspect_pause(CrashStreak streak, std::int64_t first_pause);

// The case after its job was charged and rescued, as far as necessary. It may stay open, and is
// then kept until the job's handler ends.
CrashCase resolved(CrashCase entry);
// Whether the job is a suspect of a crash whose jobs have been put back since; not a job that was
// only seen in flight at crashes.
bool is_earlier_suspect(const CrashCase &entry);
bool is_open(const CrashCase &entry);

}  // namespace hipq::core
