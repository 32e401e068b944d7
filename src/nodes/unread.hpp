// Tracks which outbox rows other nodes may not have read yet.
#pragma once

#include "pg/clock.hpp"

#include <optional>

namespace hipq::nodes {

// The time from which on rows of the outbox may not have been read by every node that they are for.
// These rows are kept, whatever their age, since a replication slot may be lost. At most `now`;
// nothing: not known yet. For maintenance, which calls it from time to time; needs a transaction.
std::optional<pg::Time> unread_since(pg::Time now);

}  // namespace hipq::nodes
