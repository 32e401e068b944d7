// hipq's idea of now.
#pragma once

#include "spi.hpp"

namespace hipq::pg {

// clock_timestamp() plus hipq.clock_offset.
Time now();

}  // namespace hipq::pg
