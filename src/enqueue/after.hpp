// Jobs that come after others: the arguments after, after_policy and on_failure of the functions
// that enqueue.
#pragma once

#include "catalog/cache.hpp"
#include "enqueue/enqueue.hpp"
#include "job/dependency_rows.hpp"
#include "pg/arguments.hpp"

namespace hipq::enqueue {

// The most jobs that one job may come after.
inline constexpr std::size_t most_jobs_before = 10'000;

// Reads the arguments, which are at `position` and behind it; between on_failure and after_batch is
// the batch that the job belongs to. Nothing: the new job comes after none. Raises 22004 for a NULL
// among the ids, 54000 for too many, 22023 for an unknown word or an option without `after` and
// `after_batch`, 42704 for a job that does not exist or that the caller may not read, and for a
// batch that does not exist or whose queue the caller may not enqueue to, and 0A000 for jobs that
// this cannot be done with: of an instance with shards, or of a queue that keeps no final jobs.
std::optional<job::After> after_of(const pg::Arguments &arguments, int position,
                                   const catalog::Catalogue &catalogue,
                                   const catalog::Queue &queue);

// Raises 22023 if a new job of the batch would come after itself: what it comes after waits for the
// batch.
void demand_no_circle(const catalog::Catalogue &catalogue, std::int64_t batch_id,
                      const job::After &after);

// The words of after_policy and on_failure, as given.
struct AfterWords {
    std::optional<std::string> policy{};
    std::optional<std::string> on_failure{};
    bool any() const { return policy.has_value() || on_failure.has_value(); }
};
// The same for ids and words that come from elsewhere; the ids may be none.
job::After after_of(const AfterWords &words, const catalog::Catalogue &catalogue,
                    const catalog::Queue &queue, const std::vector<std::int64_t> &ids);

// Makes the ends of jobs be reported that new ones come after.
void watch_jobs_before(const job::After &after);

// Makes new jobs of a queue, which are held, come after these.
void come_after(const catalog::Queue &queue, std::span<const std::int64_t> job_ids,
                const job::After &after);

}  // namespace hipq::enqueue
