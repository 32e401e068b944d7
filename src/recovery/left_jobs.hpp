// Finding jobs whose executors are gone.
#pragma once

#include "job/job.hpp"

namespace hipq::recovery {

struct LeftJob {
    std::int64_t id;
    int attempt;
};

// How many pages the live leaf of a queue has. Needs a transaction.
std::int64_t live_pages(const catalog::Queue &queue);

// The jobs that stand in `running` or `error` on these pages of the live leaf. A row that nobody
// has in flight stays where it is. Needs a transaction.
std::vector<LeftJob> left_jobs(const catalog::Queue &queue, std::int64_t first_page,
                               std::int64_t end_page);

// Whether the job still stands as an attempt left it: in `running` or `error`, or, if that may have
// been claimed by lock, waiting as before. Asked after taking it failed: then somebody holds its
// row. Needs a transaction.
bool is_left(const catalog::Queue &queue, std::int64_t id, int attempt, bool may_be_locked);

// Which of these jobs of a queue are unfinished. Needs a transaction.
std::vector<std::int64_t> unfinished_jobs(const catalog::Queue &queue,
                                          const std::vector<std::int64_t> &ids);

}  // namespace hipq::recovery
