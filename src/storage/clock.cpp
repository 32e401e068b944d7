// hipq's idea of now.
#include "clock.hpp"

#include "settings.hpp"

namespace hipq::storage {

pg::Time now()
{
    return pg::Time{::GetCurrentTimestamp() + static_cast<std::int64_t>(settings::clock_offset) * USECS_PER_SEC};
}

}  // namespace hipq::storage
