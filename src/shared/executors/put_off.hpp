// Puts off jobs that a process has in flight and cannot run now: they go back into their lane.
#pragma once

#include "shared/lanes/in_flight.hpp"

namespace hipq::executors {

// Gives back a job that was chosen and could not be claimed; it is not worth a look before
// `not_before`.
void put_off(const lanes::WaitingJob &job, pg::Time not_before);

// The same for a job that has no capacity under its throttle key; it is worth a look when there is
// capacity, or from `not_before` on.
void put_off_full(const lanes::WaitingJob &job, std::uint64_t type, pg::Time not_before);

// Gives back a job that was chosen and has no capacity to run.
void put_back(const lanes::WaitingJob &job);

}  // namespace hipq::executors
