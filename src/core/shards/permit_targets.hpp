// How a limit on running jobs is divided among the nodes that want to run some.
//
// Max-min fair: nobody's part grows while one who wants more has less, and what one does not want
// goes to the others. But a job runs or it does not. Three quarters of the limit 3 for
// each of four nodes would let none of them run a job of weight 1. So parts are whole jobs.
#pragma once

#include "core/limits/throttle.hpp"

#include <cstddef>
#include <vector>

namespace hipq::core {

// What a node asks for. Weights in thousandths (throttle.hpp).
struct PermitClaim {
    Weight want;  // weight of its running jobs plus that of the jobs that could start
    Weight unit;  // of the next job that could start; 0: there is none
    Weight has;   // its share now
};

// The part of each claim, in their order. Together they are not above the limit.
//
// `turn` is the position of the claim that comes first when whole jobs do not come out even. If
// its next job fits into no fair part, it gets the job's weight nevertheless and the others
// share the rest: so the authority saves up for a heavy job. A job heavier than the limit counts as
// heavy as the limit. What nobody can use stays with those who have it.
std::vector<Weight> permit_targets(Weight limit, const std::vector<PermitClaim> &claims,
                                   std::size_t turn);

}  // namespace hipq::core
