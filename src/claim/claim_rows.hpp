// Who is next, and taking the job: initial|retry -> running.
#pragma once

#include "catalog/cache.hpp"
#include "claim/claim.hpp"
#include "job/claimed_job.hpp"

namespace hipq::claim {

// Whether one of them, which are claimed, is of a slot that has left this node in strict order
// since the catalogue of `queue` was read: older ones may be on their way already, and none is to
// start. Who sends them locks their rows after the slot has left; so whoever has passed over a
// locked row, and asks after he has claimed, is told.
bool have_left(const catalog::Queue &queue, std::span<const job::ClaimedJob> jobs);

}  // namespace hipq::claim
