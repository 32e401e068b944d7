// Answers calls that other nodes pass on.
#pragma once

#include "nodes/answering.hpp"
#include "pg/spi.hpp"

namespace hipq::nodes {

// A call: the name of the function, the id of a job, and the further arguments as text.
struct Call {
    std::string function;
    std::int64_t id;
    std::vector<std::optional<std::string>> arguments{};
    std::optional<std::string> queue{};  // only the nodes of its instance are asked
    bool is_about_letter = false;        // about a dead letter, not a job
};

// Runs the call here, with the rights of a role, for a node of an instance. Returns its result as
// JSON; nothing: there is no such job here, nor on the nodes that this node has asked. Raises what
// the function raises.
std::optional<std::string> answer_here(const Call &call, Oid role, Asker asker,
                                       std::string_view instance);

}  // namespace hipq::nodes
