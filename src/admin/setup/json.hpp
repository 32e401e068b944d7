// JSON that hipq has built as text.
#pragma once

#include <string>

#include "pg/spi.hpp"

namespace hipq::admin {

// Allocates in the current memory context.
inline pg::RawValue json_of(const std::string &text)
{
    return pg::call([&] {
        return pg::RawValue{JSONBOID,
                            DirectFunctionCall1(::jsonb_in, CStringGetDatum(text.c_str())), false};
    });
}

}  // namespace hipq::admin
