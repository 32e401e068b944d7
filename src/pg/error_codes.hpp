// SQLSTATEs of hipq's own that clients branch by. Those that handlers raise: pg/failure_codes.hpp.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::pg {

// What was said of an attempt comes too late: it is over.
inline constexpr int errcode_attempt_is_over = MAKE_SQLSTATE('H', 'Q', '0', '0', '3');

// A server of a sharded instance that may have the job does not answer.
inline constexpr int errcode_node_is_silent = MAKE_SQLSTATE('H', 'Q', '5', '0', '3');

}  // namespace hipq::pg
