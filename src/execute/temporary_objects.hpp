// The temporary objects of this session, and what hangs on them.
#pragma once

#include "execute/execute.hpp"
#include "pg/spi.hpp"

namespace hipq::execute {

// How the client's objects are defended. Raises 42501.
[[noreturn]] void refuse_change_of_temporary_objects();

}  // namespace hipq::execute
