// The table of jobs in flight (core/lanes/job_table.hpp) in shared memory, and the lock that guards
// it.
//
// A process that holds the lock exclusively may change everything. A process that holds it shared
// may read everything, and the holder of an entry may change the entry's phase and flags, but not
// its weight. So a job takes the lock exclusively only at its start and at its end, unless another
// process inquires about it. The lock also guards what an executor's slot says about its job and
// about stopping it (shared/executors/executor_table.hpp).
#pragma once

#include "core/lanes/job_table.hpp"
#include "shared/memory/registry.hpp"
#include "shared/memory/tranche.hpp"

namespace hipq::lanes {

class InFlightLock : public memory::TrancheLock {
public:
    explicit InFlightLock(LWLockMode mode);
};

// All jobs in flight. Only if hipq was preloaded.
core::JobTable jobs_in_flight();

// How many jobs may be in flight at once.
Size job_capacity();

// The error with which a job that is to be cancelled ends. It is stored beside the job's entry or,
// if the job has none, beside the slot of its executor. Needs the lock.
inline constexpr std::size_t max_cancellation_error = 256;
char *cancellation_error(std::int32_t entry);
char *cancellation_error_of_executor(int slot);

extern const memory::Part in_flight_part;

}  // namespace hipq::lanes
