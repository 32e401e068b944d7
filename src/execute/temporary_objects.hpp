// The temporary objects of this session, and what hangs on them.
#pragma once

#include "pg/spi.hpp"

namespace hipq::execute {

// Catalogue and number.
using Objects = std::set<std::pair<Oid, Oid>>;
Objects temporary_objects();

// Drops what is not among these. Raises 42501 when then it is not these that are left: some are
// gone, or one of them has got a trigger, an index or the like.
void drop_temporary_objects_but(const Objects &clients);

// How the client's objects are defended. Raises 42501.
[[noreturn]] void refuse_change_of_temporary_objects();

}  // namespace hipq::execute
