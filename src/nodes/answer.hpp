// Answers calls that other nodes pass on.
#pragma once

#include "nodes/answering.hpp"
#include "nodes/nodes.hpp"
#include "pg/spi.hpp"

namespace hipq::nodes {

// Runs the call here, with the rights of a role, for a node of an instance. Returns its result as
// JSON; nothing: there is no such job here, nor on the nodes that this node has asked. Raises what
// the function raises.
std::optional<std::string> answer_here(const Call &call, Oid role, Asker asker,
                                       std::string_view instance);

}  // namespace hipq::nodes
