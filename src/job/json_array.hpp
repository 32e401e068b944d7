// Arrays of jsonb.
#pragma once

#include "pg/spi.hpp"

namespace hipq::job {

// The elements of a jsonb[]; they point into it, or into the current memory context.
std::vector<pg::RawValue> elements_of(pg::RawValue array);

// A jsonb[] of the elements, in the current memory context.
pg::RawValue array_of(std::span<const pg::RawValue> elements);

}  // namespace hipq::job
