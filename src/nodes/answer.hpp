// Answers calls that another node passes on.
#pragma once

#include "nodes/answering.hpp"
#include "pg/spi.hpp"

namespace hipq::nodes {

// What was called, by its name, with the id of a job and what comes after it as text.
struct Call {
    std::string function;
    std::int64_t id;
    std::vector<std::optional<std::string>> arguments{};
    std::optional<std::string> queue{};  // only its instance is asked
    bool is_about_letter = false;        // not about a job
};

// Does it here, with the rights of a role, for a node of an instance. Its result as JSON; nothing:
// there is no such job here, nor where this node has asked on. Raises what the function raises.
std::optional<std::string> answer_here(const Call &call, Oid role, Asker asker,
                                       std::string_view instance);

}  // namespace hipq::nodes
