// SQLSTATEs of hipq's own, for clients to branch on. pg/failure_codes.hpp has those that handlers
// raise.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::pg {

// A report about an attempt comes too late: the attempt is over.
inline constexpr int errcode_attempt_is_over = MAKE_SQLSTATE('H', 'Q', '0', '0', '3');

// A server of a sharded instance that may have the job does not answer.
inline constexpr int errcode_node_is_silent = MAKE_SQLSTATE('H', 'Q', '5', '0', '3');

}  // namespace hipq::pg
