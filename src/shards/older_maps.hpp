// Transactions that may still send jobs by a previous map.
#pragma once

#include "pg/spi.hpp"

namespace hipq::shards {

// Returns whether a transaction that had begun by then may have placed jobs by an older map and has
// not ended. Makes no session wait. Looks at this database.
bool has_users_since(pg::Time moment);

}  // namespace hipq::shards
