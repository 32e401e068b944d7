// The identity of the database: which server and database the jobs belong to. A database runs no
// jobs until release_hold() if it was restored or cloned, or if its server was started from a copy
// of the files (shared/memory/server_mark.hpp).
#pragma once

#include "pg/spi.hpp"

namespace hipq::catalog {

// Writes the identity of the database; the first create_queue() calls it. Does nothing if there is
// an identity, or if there are queues already (a restore that has not reached the identity yet).
// Needs a transaction.
void claim_identity_if_new();

// Whether the stored identity is missing or belongs to another database; then nothing runs. Needs a
// transaction.
bool is_held();

// Writes the server's token into an identity that lacks one because hipq was not preloaded when the
// identity was written. Needs a transaction.
void complete_identity();

// The token of the server's mark as a uuid, or nothing if there is no mark.
std::optional<std::string> own_token();

// Makes this database the one that runs the jobs.
void take_identity();

}  // namespace hipq::catalog
