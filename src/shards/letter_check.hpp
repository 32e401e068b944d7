// Whether a letter may take effect: who has brought it, and what it says.
#pragma once

#include "shards/receive.hpp"

namespace hipq::shards {

// What connects this node with another one, from which it reads.
struct OwnLine {
    std::string instance;
    int sender;
    int own_node;
    std::string timeline;  // of this node, when it was last in step
};

// Nothing: the subscription is none of those that connect nodes.
std::optional<OwnLine> line_of_subscription(const std::string &subscription);
// For whoever hands a letter over: the line that it says it came by. Nothing: there is none.
std::optional<OwnLine> line_named_by(const Letter &letter);

// Why it is not to take effect, as a part of a sentence. Raises 0A000 for a kind that this release
// does not know.
std::optional<std::string> problem_of(const Letter &letter, const OwnLine &line);

}  // namespace hipq::shards
