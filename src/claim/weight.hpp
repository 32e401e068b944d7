// What a job weighs under the limits of its queue, job type and throttle key.
#pragma once

#include "catalog/cache.hpp"
#include "claim/claim.hpp"
#include "job/claimed_job.hpp"

namespace hipq::claim {

// Of throttle_factor (numeric). Both PostgreSQL regime.
core::Weight weight_of(Datum throttle_factor);
std::uint64_t key_of(Datum throttle_key);

// The limits of a type in its queue.
core::WeightLimits limits_of(const catalog::Queue &queue, const catalog::JobType &type);
// Whether any may stand against it, so that what its jobs weigh matters before they are claimed.
bool is_throttled(const catalog::Queue &queue, std::string_view job_type);

// Looks up, by SQL, what jobs weigh of which that is not known yet; those that are gone stay
// unknown. Needs a transaction.
void weigh(const catalog::Queue &queue, std::span<job::DueJob> jobs);

}  // namespace hipq::claim
