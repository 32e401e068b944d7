// Who may still send jobs by a map from before.
#pragma once

#include "pg/spi.hpp"

namespace hipq::shards {

// Whether a transaction that has begun by then may have placed jobs by an older map, and is not yet
// over. Nobody is made to wait for the answer. Looks at this database.
bool has_users_since(pg::Time moment);

}  // namespace hipq::shards
