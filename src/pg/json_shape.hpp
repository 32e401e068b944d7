// How deep a jsonb value is nested, and how large it is as text.
#pragma once

#include "pg/guard.hpp"

namespace hipq::pg {

struct JsonShape {
    std::size_t depth;       // arrays and objects within each other; 0: a scalar
    std::size_t text_bytes;  // at most so many as text
};

// Walks over the value as it is stored, without recursion, and stops where it is beyond either
// limit: then the one that it is beyond is as far as it has come. Of a value whose strings cannot
// exceed `most_text` their escapes are not counted.
JsonShape json_shape(Datum json, std::size_t most_depth, std::size_t most_text);

}  // namespace hipq::pg
