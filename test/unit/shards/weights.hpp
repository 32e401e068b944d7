// The weight that tests of shared limits count in.
#pragma once

#include "core/shards/permits.hpp"

namespace hipq::test {

inline constexpr core::Weight one = core::weight_unit;

}  // namespace hipq::test
