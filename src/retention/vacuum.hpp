// Vacuuming the live leaves: when the scheduler finds that one needs it, it starts a worker for
// that.
#pragma once

#include "catalog/catalog.hpp"
#include "core/retention/vacuuming.hpp"

namespace hipq::retention {

struct Vacuums {
    std::map<int, core::LastVacuum> last{};  // by queue
    std::map<int, std::int64_t> dead{};      // rows at the last look
    int queue_id = 0;                        // the one at hand, if there is one
    pg::Time started{0};
};

// Looks at all live leaves and starts a vacuum if one is due. Returns after how many microseconds
// to look again; nothing: when somebody has worked, if nobody does just now. Own transaction.
std::optional<std::int64_t> look_after_leaves(Vacuums &vacuums, const catalog::Catalogue &catalogue,
                                              bool somebody_works);

}  // namespace hipq::retention
