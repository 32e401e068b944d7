// SQLSTATEs of hipq's own that clients branch by. Those that handlers raise: pg/failure_codes.hpp.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::pg {

// What was said of an attempt comes too late: it is over.
inline constexpr int errcode_attempt_is_over = MAKE_SQLSTATE('H', 'Q', '0', '0', '3');

}  // namespace hipq::pg
