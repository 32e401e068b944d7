// Divides a limit on running jobs among the nodes that want to run some.
//
// Max-min fair: no part grows while a node that wants more has less, and what a node does not want
// goes to the others. But a job runs or it does not: three quarters of the limit 3 for each of four
// nodes would let none of them run a job of weight 1. So parts are whole jobs.
#pragma once

#include "core/limits/throttle.hpp"

#include <cstddef>
#include <vector>

namespace hipq::core {

// The claim of a node. Weights in thousandths (throttle.hpp).
struct PermitClaim {
    Weight want;  // weight of its running jobs and of the jobs that could start
    Weight unit;  // weight of the next job that could start; 0: there is none
    Weight has;   // its present share
};

// Returns the parts of the claims, in the same order. Their sum does not exceed the limit.
//
// `turn` is the position of the claim that comes first when whole jobs do not divide evenly. If its
// next job fits into no fair part, it gets the job's weight nevertheless and the others share the
// rest: so the authority saves up for a heavy job. A job heavier than the limit counts as heavy as
// the limit. Weight that no node can use stays with the nodes that have it.
std::vector<Weight> permit_targets(Weight limit, const std::vector<PermitClaim> &claims,
                                   std::size_t turn);

}  // namespace hipq::core
