// The temporary objects of this session, and what depends on them.
#pragma once

#include "execute/execute.hpp"
#include "pg/spi.hpp"

namespace hipq::execute {

// Protects the client's objects: raises 42501.
[[noreturn]] void refuse_change_of_temporary_objects();

}  // namespace hipq::execute
