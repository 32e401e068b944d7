// Checks whether a letter may take effect, by the subscription that brought it and by its contents.
#pragma once

#include "shards/receive.hpp"

namespace hipq::shards {

// A connection of this node with another one, from which it reads.
struct OwnLine {
    std::string instance;
    int sender;
    int own_node;
    std::string timeline;  // of this node, when it was last in step
};

// Returns nothing if the subscription is not one that connects nodes.
std::optional<OwnLine> line_of_subscription(const std::string &subscription);
// For a letter that is handed over: returns the line that it names; nothing: there is none.
std::optional<OwnLine> line_named_by(const Letter &letter);

// Returns why it must not take effect, as a part of a sentence. Raises 0A000 for a kind that this
// release does not know.
std::optional<std::string> problem_of(const Letter &letter, const OwnLine &line);

}  // namespace hipq::shards
