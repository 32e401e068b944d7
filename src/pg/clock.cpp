// hipq's idea of now.
#include "clock.hpp"

#include "settings.hpp"

namespace hipq::pg {

Time now()
{
    return Time{::GetCurrentTimestamp() + static_cast<std::int64_t>(settings::clock_offset) * USECS_PER_SEC};
}

}  // namespace hipq::pg
