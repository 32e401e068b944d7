// Puts off jobs that a process has in hand and cannot run now: they go back into their lane.
#pragma once

#include "shmem/hands.hpp"

namespace hipq::shmem {

// Gives back a job that was chosen and could not be claimed; it is not worth a look before that time.
void put_off(const JobInLine &job, pg::Time not_before);

// The same of one that has no room under its throttle key: it is looked at again when there is, or at that time.
void put_off_full(const JobInLine &job, std::uint64_t type, pg::Time not_before);

// Gives back a job that was chosen and has no room to run.
void put_back(const JobInLine &job);

}  // namespace hipq::shmem
