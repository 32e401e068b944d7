// What is done to a job that another node of a sharded instance has.
#pragma once

#include "nodes/nodes.hpp"

namespace hipq::control {

// Has that node do it, at once, and returns what it says, as JSON. Raises 42704 if no node has the
// job, and what the function raises there.
std::string call_elsewhere(const catalog::Catalogue &catalogue, const nodes::Call &call);

}  // namespace hipq::control
