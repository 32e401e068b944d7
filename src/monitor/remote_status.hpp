// What another node of a sharded instance says of a job.
#pragma once

#include "catalog/catalog.hpp"
#include "pg/arguments.hpp"

namespace hipq::monitor {

// The rows of hipq.why() for a job that is not here: which node has it, and what that says. Of one
// that cannot be found, why.
void explain_elsewhere(pg::ResultSet &result, const catalog::Catalogue &catalogue, std::int64_t id,
                       const std::optional<std::string> &queue);

}  // namespace hipq::monitor
