// What the scheduler does for the tables once a minute.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::retention {

struct Maintenance {
    pg::Time next{0};
    bool is_left = false;  // steps that somebody's lock was against
};

// Does what is due; a queue that was dropped since the last time is. Returns when there is more to
// do: infinity: at some later look. No transaction open.
pg::Time maintain(Maintenance &maintenance, pg::Time now, bool saw_dropped_queue);

}  // namespace hipq::retention
