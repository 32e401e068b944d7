// The unit of weights in tests of shared limits.
#pragma once

#include "core/shards/permits.hpp"

namespace hipq::test {

inline constexpr core::Weight one = core::weight_unit;

}  // namespace hipq::test
