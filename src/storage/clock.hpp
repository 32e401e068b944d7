// hipq's idea of now.
#pragma once

#include "pg/spi.hpp"

namespace hipq::storage {

// clock_timestamp() plus hipq.clock_offset.
pg::Time now();

}  // namespace hipq::storage
