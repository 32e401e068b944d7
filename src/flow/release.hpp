// Makes held jobs claimable.
#pragma once

#include "catalog/cache.hpp"
#include "job/dependency_rows.hpp"

namespace hipq::flow {

// Releases held jobs of a queue, which are due from now on. Returns those that another session has
// locked. Needs a transaction.
std::vector<std::int64_t> release(const catalog::Queue &queue, std::span<const std::int64_t> ids,
                                  pg::Time now);

// The same for the job that follows the one with its key. False: another job has the key by now, or
// its row is locked.
bool release_follower(const catalog::Queue &queue, std::int64_t id, pg::Time now);

}  // namespace hipq::flow
