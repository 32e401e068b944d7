// What the scheduler does for the tables once a minute.
#pragma once

#include "worker/queue_look.hpp"

namespace hipq::worker {

struct Maintenance {
    pg::Time next{0};
    bool is_left = false;  // steps that somebody's lock was against
};

// No transaction open.
void maintain(Maintenance &maintenance, Look &look);

}  // namespace hipq::worker
