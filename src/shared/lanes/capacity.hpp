// Capacity under the limits of queues, job types and throttle keys: asked for before a job is
// claimed, given back when it leaves the prefetched batch of its executor, in whatever way.
#pragma once

#include "core/lanes/job_table.hpp"

namespace hipq::lanes {

// A job prefetched by this executor that is to run next.
struct Claimant {
    std::int64_t job_id;
    core::Load load;
};

// Takes capacity for jobs, in their order. One that finds none waits from then on, and somebody is
// told when there is; when it is the queue or the type that is full, those behind it are not asked
// about. Returns what each got, as far as it was asked about.
std::vector<core::Capacity> take_capacity(std::span<const Claimant> jobs,
                                          const core::WeightLimits &limits);

// Whether a job has capacity under the limit of its throttle key. If not it waits, and somebody is
// told when there is: of its lane that is true from when it stands there as full
// (core::Lane::note_full(), LaneReading::full()) and stands_full() has been said.
bool has_key_capacity(int queue_id, const core::Load &load, core::Weight limit, bool is_shared);
// Whether a job waits for capacity under its throttle key: all others of that key do, too.
bool waits_for_capacity(int queue_id, std::uint64_t type, std::uint64_t key);
// Capacity may have been made before the jobs stood in their lane as full.
void stands_full(int queue_id, std::uint64_t type, std::uint64_t key);

// Whether a job of a queue, or of one of its types, waits for capacity: it goes first, all others
// of it later.
bool waits_for_capacity(int queue_id);
bool waits_for_capacity(int queue_id, std::uint64_t type);

// Limits may have changed, or who waited may be gone: whoever waits in this database finds out
// anew. Returns whether anybody did.
bool forget_waiting_for_capacity();

// What runs, by queue (no type), type (no key) and key. Of this database.
std::vector<core::Limiter> list_limiters();

}  // namespace hipq::lanes
