// Rows of hipq.dependency: which jobs come after which.
//
// A job before is named by its id, and the queue that it is in, which has its row.
#pragma once

#include "catalog/cache.hpp"
#include "core/flow/waits.hpp"

namespace hipq::job {

// A job that a later one comes after.
struct JobBefore {
    std::int64_t id;
    int queue_id;
};

// What a new job comes after, and when it may start.
struct After {
    std::vector<JobBefore> jobs{};  // none twice
    core::AfterPolicy policy = core::AfterPolicy::succeeded;
    core::OnFailure on_failure = core::OnFailure::fail;
};

// Makes jobs of one queue come after others. Their rows must be held (core::WaitsFor).
void insert_dependencies(const catalog::Queue &queue, std::span<const std::int64_t> job_ids,
                         const After &after);

// Makes the follower of a key come after the job that holds the key now. False: it did already.
bool follow(const catalog::Queue &queue, std::int64_t follower, std::int64_t holder);

// For jobs that move to another queue, in the transaction that moves them. Returns whether any of
// them comes after others, or others after it. As the extension owner.
bool move_dependencies(const catalog::Queue &from, const catalog::Queue &to,
                       const std::vector<std::int64_t> &job_ids);

// Jobs of several queues that come directly after any of these jobs, at most `most`, in the order
// of queue and id, and after `from`.
struct LaterJob {
    int queue_id;
    std::int64_t id;
    auto operator<=>(const LaterJob &) const = default;  // NOLINT(modernize-use-nullptr)
};
std::vector<LaterJob> jobs_after(std::span<const std::int64_t> before_ids, LaterJob from,
                                 std::int64_t most);

// Returns the jobs that come after batches without closed_time, each with the expires_time of its
// batch. Leaves out batches whose expires_time is before `since`.
std::set<std::pair<pg::Time, LaterJob>> jobs_after_open_batches(pg::Time since);

// The queues that have jobs with rows here, by number.
std::vector<int> queues_with_dependencies();

// The state of a held job: how many of the jobs before it have ended, and how.
struct WaitState {
    std::int64_t job_id;
    core::AfterPolicy policy;
    core::OnFailure on_failure;
    core::Before before;
    // Unfinished jobs whose ends decide next: all of them if any one may decide, or if they are
    // few, else the one with the highest id, which most likely ends last. Batches as well.
    std::vector<std::int64_t> to_watch;
    // The job because of which its policy cannot be met: of the failed or skipped jobs before it
    // that with the lowest id, or the one because of which that one did not run.
    std::optional<std::int64_t> cause;
    // An open batch closes by itself then.
    std::optional<pg::Time> look_again{};
    // Another transaction adds jobs to a batch that is closed. Its end is not reported.
    bool is_joined = false;
};

// Reads that of jobs of one queue, as committed now; jobs without rows are left out.
std::vector<WaitState> wait_states(const catalog::Catalogue &catalogue, const catalog::Queue &queue,
                                   std::span<const std::int64_t> job_ids);

// The batches that a job comes after.
std::vector<std::int64_t> batches_before(const catalog::Queue &queue, std::int64_t job_id);

// The unfinished jobs that a job comes after, in order.
std::vector<std::int64_t> unfinished_before(const catalog::Catalogue &catalogue,
                                            const catalog::Queue &queue, std::int64_t job_id);

// For rows of a table of final jobs that are about to be deleted: keeps the outcomes and results of
// jobs that others come after, and deletes what the jobs themselves came after. `until`: only rows
// with update_time up to then; nothing: all rows. As the extension owner.
void keep_outcomes(const std::string &table, std::optional<pg::Time> until);
// The same for one final job that is about to be erased; its result is not kept.
void erase_dependencies(const catalog::Queue &queue, std::int64_t job_id);

// Whether jobs of the queue are held until others have ended, or belong to batches.
bool has_dependent_jobs(const catalog::Queue &queue);

}  // namespace hipq::job
