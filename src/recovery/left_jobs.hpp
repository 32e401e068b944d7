// Finds jobs whose executors are gone.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::recovery {

struct LeftJob {
    std::int64_t id;
    int attempt;
};

// Returns the number of pages of the queue's live leaf. Needs a transaction.
std::int64_t live_pages(const catalog::Queue &queue);

// Returns the jobs in `running` or `error` on these pages of the live leaf. A row that is not in
// flight does not move to another page. Needs a transaction.
std::vector<LeftJob> left_jobs(const catalog::Queue &queue, std::int64_t first_page,
                               std::int64_t end_page);

// Returns whether the row is as the attempt left it: in `running` or `error`, or still waiting if
// the attempt may have been claimed by lock. The caller checks this after it failed to take the
// job; true means that another session holds the row. Needs a transaction.
bool is_left(const catalog::Queue &queue, std::int64_t id, int attempt, bool may_be_locked);

// Returns the jobs among these that are unfinished. Needs a transaction.
std::vector<std::int64_t> unfinished_jobs(const catalog::Queue &queue,
                                          const std::vector<std::int64_t> &ids);

}  // namespace hipq::recovery
