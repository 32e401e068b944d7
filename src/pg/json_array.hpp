// Arrays of jsonb.
#pragma once

#include "pg/spi.hpp"

namespace hipq::pg {

// The elements of a jsonb[]; they point into it, or into the current memory context.
std::vector<RawValue> elements_of(RawValue array);

// A jsonb[] of the elements, in the current memory context.
RawValue array_of(std::span<const RawValue> elements);

}  // namespace hipq::pg
