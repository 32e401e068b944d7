// Puts off jobs that a process has in flight and cannot run now: they go back into their lane.
#pragma once

#include "shared/lanes/in_flight.hpp"

namespace hipq::executors {

// Gives back a job that was chosen and could not be claimed; it is not worth a look before that
// time.
void put_off(const lanes::WaitingJob &job, pg::Time not_before);

// The same of one that has no capacity under its throttle key: it is looked at again when there is,
// or at that time.
void put_off_full(const lanes::WaitingJob &job, std::uint64_t type, pg::Time not_before);

// Gives back a job that was chosen and has no capacity to run.
void put_back(const lanes::WaitingJob &job);

}  // namespace hipq::executors
