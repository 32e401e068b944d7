// Capacity under the limits of queues, job types and throttle keys. An executor takes it before it
// claims a job, and gives it back when the job leaves its prefetched batch, for whatever reason.
#pragma once

#include "pg/postgres.hpp"

#include "core/lanes/job_table.hpp"
#include "core/limits/limiter_name.hpp"
#include "core/limits/throttle.hpp"

namespace hipq::lanes {

// A job prefetched by this executor that is to run next.
struct Claimant {
    std::int64_t job_id;
    core::Load load;
};

// Takes capacity for jobs, in their order. A job that finds none is recorded as waiting, and a
// process is notified when capacity becomes available. If the queue or the type is full, the jobs
// behind it are not tried. Returns what each tried job got.
std::vector<core::Capacity> take_capacity(std::span<const Claimant> jobs,
                                          const core::WeightLimits &limits);

// Whether a job has capacity under the limit of its throttle key. If not, it is recorded as
// waiting, and a process is notified when capacity becomes available. For the job's lane this holds
// only after the job was noted there as full (core::Lane::note_full(), LaneReading::full()) and
// stands_full() was called.
bool has_key_capacity(int queue_id, const core::Load &load, core::Weight limit, bool is_shared);
// Whether a job waits for capacity under its throttle key; then all other jobs of that key wait
// too.
bool waits_for_capacity(int queue_id, std::uint64_t type, std::uint64_t key);
// Call after the jobs were noted in their lane as full, because capacity may have become available
// before.
void stands_full(int queue_id, std::uint64_t type, std::uint64_t key);

// Whether a job of a queue, or of one of its types, waits for capacity: then that job goes first
// and all others later.
bool waits_for_capacity(int queue_id);
bool waits_for_capacity(int queue_id, std::uint64_t type);

// Call when limits may have changed, or waiting jobs may be gone: all waiting jobs of this database
// are tried again. Returns whether there were any.
bool forget_waiting_for_capacity();

// The limiters under which jobs of this database run, by queue (no type), type (no key) and key.
std::vector<core::Limiter> list_limiters();

}  // namespace hipq::lanes
