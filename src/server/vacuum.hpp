// Vacuums the live leaves: if one needs it, the scheduler starts a worker for that.
#pragma once

#include "catalog/cache.hpp"
#include "core/retention/vacuuming.hpp"

namespace hipq::server {

struct Vacuums {
    // A queue to which something has happened.
    struct Watched {
        pg::Time until;         // the statistics of the work arrive before this time
        std::int64_t dead = 0;  // dead rows at the last look
    };
    std::map<int, core::LastVacuum> last{};  // by queue
    std::map<int, Watched> watched{};        // by queue
    pg::Time next_look{0};
    int queue_id = 0;  // the queue of the current vacuum, if there is one
    pg::Time started{0};
};

// Looks at the live leaves of queues to which something has happened, `touched` since the last call
// or recently, at most once a second, and starts a vacuum if one is due. Returns after how many
// microseconds to look again; nothing: not before more work is done, if none is under way. Uses its
// own transaction.
std::optional<std::int64_t> look_after_leaves(Vacuums &vacuums, const catalog::Catalogue &catalogue,
                                              const std::vector<int> &touched, bool somebody_works);

}  // namespace hipq::server
