// Takes the next job: initial|retry -> running.
#pragma once

#include "catalog/cache.hpp"
#include "claim/claim.hpp"
#include "job/claimed_job.hpp"

namespace hipq::claim {

// Whether any of these claimed jobs belongs to a slot that has left this node in strict order since
// the catalogue of `queue` was read. Older jobs of the slot may already be on their way to the
// other node, so none may start here. The process that sends them locks their rows after the slot
// has left. So a claimer that passed over a locked row, and calls this after its claim, learns that
// the slot has left.
bool have_left(const catalog::Queue &queue, std::span<const job::ClaimedJob> jobs);

}  // namespace hipq::claim
