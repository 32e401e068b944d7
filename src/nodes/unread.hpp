// What other nodes may not have read yet.
#pragma once

#include "pg/clock.hpp"

#include <optional>

namespace hipq::nodes {

// From when on rows of the outbox may not have been read by every node that they are for: those are
// kept, whatever their age, since a replication slot may be lost. At most `now`; nothing: it is not
// known yet. For maintenance, which calls it now and then; needs a transaction.
std::optional<pg::Time> unread_since(pg::Time now);

}  // namespace hipq::nodes
