// Passes on to other nodes what this one cannot do.
#include "control/elsewhere.hpp"

#include "job/job.hpp"

namespace hipq::control {

std::string call_elsewhere(const catalog::Catalogue &catalogue, const nodes::Call &call)
{
    const auto answer = nodes::call(catalogue, call);
    if (!answer.has_value())
        job::raise_unknown_job(call.id);
    return *answer;
}

}  // namespace hipq::control
