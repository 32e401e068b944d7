// Which server and database the jobs belong to: a restored or cloned database, or one of a server
// that was started from a copy of the files (shared/memory/server_mark.hpp), stands still until
// release_hold().
#pragma once

#include "pg/spi.hpp"

namespace hipq::catalog {

// The first create_queue() of a database writes its identity. Does nothing when there is one, or
// when queues are there already (a restore that has not come to the identity yet). Needs a
// transaction.
void claim_identity_if_new();

// Whether the stored identity is another's, or missing: then nothing runs. Needs a transaction.
bool is_held();

// Writes the server's token into an identity that has none yet, because hipq was not preloaded when
// it was made. Needs a transaction.
void complete_identity();

// The token of the server's mark as a uuid; nothing when there is no mark.
std::optional<std::string> own_token();

// Makes this database the one that runs the jobs.
void take_identity();

}  // namespace hipq::catalog
