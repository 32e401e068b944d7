// Who is to blame when the server crashed, from what its flight recorder says.
//
// When a process crashes, the postmaster tells all others to quit, and each executor then marks its slot: whoever ran a job and
// bears no mark went down by itself. One such job is the culprit and is charged a crash. Of several, any may be: they are
// suspects, and run again one at a time, so that the next crash has one culprit. When all bear marks, something else crashed and
// no job is charged; but one that was there in two such crashes is a suspect too.
#pragma once

#include "flight_log.hpp"

namespace hipq::core {

// How a life of the server ended.
enum class EndOfLife : std::uint8_t {
    crash,   // a process crashed, the postmaster took the others down
    stop,    // immediate stop
    killed,  // the postmaster was killed: nobody was told anything
};

// `same_server`: the postmaster lives on and starts everything anew, as it does after a crash only.
EndOfLife end_of_life(const FlightLog &log, bool same_server);

// The cases after that life: those that were open, and one for each job that was in hand. Those that matter most come first, as
// only max_crash_cases are kept; `check` is filled in by whoever stores them.
std::vector<CrashCase> judge(const FlightLog &log, EndOfLife end);

// Crashes without a culprit that make a suspect of a job.
inline constexpr int sightings_of_a_suspect = 2;

// What is left of a case once the job was charged and brought home as far as it had to be: whether it stays open, to be
// remembered until the job's handler comes to an end.
CrashCase settled(CrashCase entry);
bool is_open(const CrashCase &entry);

}  // namespace hipq::core
