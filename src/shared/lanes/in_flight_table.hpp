// The table of jobs in flight (core/lanes/job_table.hpp) in shared memory, and the lock that guards
// it.
//
// Whoever holds the lock exclusively may change all of it. Who holds it shared may read it, and the
// holder of an entry may change the entry's phase and flags, but not what it weighs: so a job that
// nobody else asks about takes the lock exclusively no more than at its start and at its end. In
// the same way the lock guards what an executor's slot says of its job and of stopping it
// (shared/executors/executor_table.hpp).
#pragma once

#include "core/lanes/job_table.hpp"
#include "shared/memory/registry.hpp"
#include "shared/memory/tranche.hpp"

namespace hipq::lanes {

class InFlightLock : public memory::TrancheLock {
public:
    explicit InFlightLock(LWLockMode mode);
};

// Every job that somebody has in flight. Only when loaded.
core::JobTable jobs_in_flight();

// How many jobs may be in flight at once.
Size job_capacity();

// What a job ends with that is to be cancelled: kept beside its entry, or where it has none beside
// the slot of its executor. Needs the lock.
inline constexpr std::size_t max_cancellation_error = 256;
char *cancellation_error(std::int32_t entry);
char *cancellation_error_of_executor(int slot);

extern const memory::Part in_flight_part;

}  // namespace hipq::lanes
