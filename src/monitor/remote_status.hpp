// What another node of a sharded instance reports about a job.
#pragma once

#include "catalog/cache.hpp"
#include "pg/arguments.hpp"

namespace hipq::monitor {

// Adds the rows of hipq.why() for a job that is not on this node: which node has it, and that
// node's rows. If the job cannot be found, says why.
void explain_elsewhere(pg::ResultSet &result, const catalog::Catalogue &catalogue, std::int64_t id,
                       const std::optional<std::string> &queue);

}  // namespace hipq::monitor
