// The nesting depth of a jsonb value, and its size as text.
#pragma once

#include "pg/guard.hpp"

namespace hipq::pg {

struct JsonShape {
    std::size_t depth;       // nesting of arrays and objects; 0: a scalar
    std::size_t text_bytes;  // upper bound
};

// Walks over the stored value without recursion, and stops when the value exceeds one of the
// limits; the exceeded member then has the value reached so far. If the strings cannot exceed
// `most_text`, their escapes are not counted.
JsonShape json_shape(Datum json, std::size_t most_depth, std::size_t most_text);

}  // namespace hipq::pg
