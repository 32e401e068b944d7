// The weight of a job under the limits of its queue, job type and throttle key.
#pragma once

#include "catalog/cache.hpp"
#include "claim/claim.hpp"
#include "job/claimed_job.hpp"

namespace hipq::claim {

// Convert throttle_factor (numeric) and throttle_key. Call both inside pg::call() only.
core::Weight weight_of(Datum throttle_factor);
std::uint64_t key_of(Datum throttle_key);

// Returns the limits of a type in its queue.
core::WeightLimits limits_of(const catalog::Queue &queue, const catalog::JobType &type);
// Whether any limit applies to the type, so that the weights of its jobs matter before they are
// claimed.
bool is_throttled(const catalog::Queue &queue, std::string_view job_type);

// Looks up, by SQL, the weights that are not known yet. Jobs that are gone stay without a known
// weight. Needs a transaction.
void weigh(const catalog::Queue &queue, std::span<job::DueJob> jobs);

}  // namespace hipq::claim
