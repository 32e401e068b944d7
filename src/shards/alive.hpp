// Letters that say nothing: a duty of the scheduler.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::shards {

// Sends one to each node that this one sends to, now and then. Whoever has had the oldest letter
// that is kept lacks none that is not kept any more; without these a node that was sent nothing for
// hipq.outbox_keep could not say so. Returns when the next is due; infinity: this server is no
// node. No transaction open.
pg::Time show_life(const catalog::Catalogue &catalogue);

}  // namespace hipq::shards
