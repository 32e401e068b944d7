// SQLSTATEs of hipq's own: those that handlers raise, and those that clients branch on.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::pg {

// By these a handler reports how it failed.
inline constexpr const char *permanent_failure_sqlstate = "HQ001";
inline constexpr const char *retriable_failure_sqlstate = "HQ002";

// A report about an attempt comes too late: the attempt is over.
inline constexpr int errcode_attempt_is_over = MAKE_SQLSTATE('H', 'Q', '0', '0', '3');

// A server of a sharded instance that may have the job does not answer.
inline constexpr int errcode_node_is_silent = MAKE_SQLSTATE('H', 'Q', '5', '0', '3');

}  // namespace hipq::pg
