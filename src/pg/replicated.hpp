// Waiting for synchronous standbys, as synchronous_commit of this process says.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::pg {

// Until what is written up to there is on disk, and where synchronous_commit wants it at the
// synchronous standbys. As a commit: a cancelled wait ends with a WARNING. PostgreSQL regime.
void wait_until_safe(XLogRecPtr end);

// Whether the standbys have it; true where none is waited for. PostgreSQL regime.
bool is_replicated(XLogRecPtr end);

}  // namespace hipq::pg
