// Puts off jobs that a process has in hand and cannot run now: they go back into their lane.
#pragma once

#include "lanes/lanes.hpp"

namespace hipq::executors {

// Gives back a job that was chosen and could not be claimed; it is not worth a look before that
// time.
void put_off(const lanes::JobInLine &job, pg::Time not_before);

// The same of one that has no room under its throttle key: it is looked at again when there is, or
// at that time.
void put_off_full(const lanes::JobInLine &job, std::uint64_t type, pg::Time not_before);

// Gives back a job that was chosen and has no room to run.
void put_back(const lanes::JobInLine &job);

}  // namespace hipq::executors
