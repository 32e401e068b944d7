// Releases the jobs that come after a job in the transaction in which that one succeeds.
//
// So a chain goes on without the scheduler, and an end and what it sets free are one commit. What
// would take long, or could wait for another session, is left to the scheduler, which hears of the
// end after the commit.
#include "core/flow/waits.hpp"
#include "flow/flow.hpp"
#include "flow/release.hpp"
#include "pg/internal_write.hpp"
#include "pg/point.hpp"
#include "pg/subtransaction.hpp"
#include "pg/transaction.hpp"
#include "shared/wakeup/commit.hpp"
#include "shared/wakeup/watched_jobs.hpp"

namespace hipq::flow {

namespace {

using catalog::Queue;

constexpr std::int64_t most_later_jobs = 100;  // of the jobs that one transaction ends
constexpr int most_jobs_before = 16;           // of a later job

// A job that comes after one that has just succeeded.
struct Later {
    std::int64_t before_id;
    int queue_id;
    std::int64_t id;
    bool is_last;   // none of the jobs before it but those that have just succeeded
    bool has_many;  // more jobs before it than are looked at here
};

// $1 jobs that have succeeded, $2 limit, $3 most jobs before. The planner might read the whole
// table for EXISTS, but not for a LIMIT.
constinit pg::Statement select_later(R"(
    SELECT dependency.before_id, dependency.queue_id, dependency.job_id,
           dependency.after_policy = 'any' OR dependency.after_policy <> 'failed' AND (
               SELECT true FROM hipq.dependency AS other
               WHERE other.queue_id = dependency.queue_id AND other.job_id = dependency.job_id
                 AND other.before_id <> ALL ($1)
               LIMIT 1
           ) IS NULL,
           (SELECT count(*) FROM (
               SELECT FROM hipq.dependency AS other
               WHERE other.queue_id = dependency.queue_id AND other.job_id = dependency.job_id
               LIMIT $3 + 1
           ) AS counted) > $3
    FROM hipq.dependency AS dependency
    WHERE dependency.before_id = ANY ($1)
    ORDER BY dependency.before_id
    LIMIT $2 + 1)");

std::vector<Later> read_later(const std::vector<std::int64_t> &ended)
{
    std::vector<Later> later;
    const pg::Rows rows =
        pg::as_hipq([&] { return select_later.run(ended, most_later_jobs, most_jobs_before); });
    for (const pg::Row row : rows)
        later.push_back(
            {row.integer(0), row.integer32(1), row.integer(2), row.boolean(3), row.boolean(4)});
    return later;
}

// Those with other jobs before them, of which all have ended.
void add_ready(const Queue &queue, const std::vector<std::int64_t> &to_look_at,
               std::vector<std::int64_t> &ready)
{
    if (to_look_at.empty())
        return;
    const auto catalogue = catalog::catalogue();
    for (const job::WaitState &state : job::wait_states(*catalogue, queue, to_look_at))
        if (core::judge(state.policy, state.on_failure, state.before) == core::AfterVerdict::run)
            ready.push_back(state.job_id);
}

// Releases what can be released, and returns which of the jobs that have ended need no scheduler.
std::set<std::int64_t> release_now(const Queue &queue, const std::vector<std::int64_t> &ended,
                                   pg::Time now)
{
    const std::vector<Later> later = read_later(ended);
    if (later.size() > most_later_jobs)
        return {};
    std::vector<std::int64_t> ready;
    std::vector<std::int64_t> to_look_at;
    for (const Later &job : later)
        if (job.queue_id == queue.id && job.is_last)
            ready.push_back(job.id);
        else if (job.queue_id == queue.id && !job.has_many)
            to_look_at.push_back(job.id);
    add_ready(queue, to_look_at, ready);
    std::ranges::sort(ready);
    ready.erase(std::unique(ready.begin(), ready.end()), ready.end());
    const std::vector<std::int64_t> locked = release(queue, ready, now);
    std::set<std::int64_t> settled(ended.begin(), ended.end());
    for (const Later &job : later)
        if (job.queue_id != queue.id || !std::ranges::binary_search(ready, job.id) ||
            std::ranges::find(locked, job.id) != locked.end())
            settled.erase(job.before_id);
    return settled;
}

}  // namespace

void release_after(const Queue &queue, std::span<const job::ClaimedJob> jobs, pg::Time now)
{
    if (IsolationUsesXactSnapshot() || !wakeup::are_jobs_watched())
        return;
    std::vector<std::int64_t> ended;
    for (const job::ClaimedJob &job : jobs)
        if (wakeup::is_watched(job.id))
            ended.push_back(job.id);
    if (ended.empty())
        return;
    const std::uint32_t new_waits = wakeup::new_waits();
    std::set<std::int64_t> settled;
    const auto error = pg::in_subtransaction(pg::Ending::kept, [&] {
        settled = release_now(queue, ended, now);
        HIPQ_POINT("after-release");
    });
    if (!error.has_value())
        for (const std::int64_t id : settled)
            wakeup::note_end_is_settled(id, new_waits);
    else if (error->sqlstate().starts_with("57"))  // a cancellation is meant for the job
        throw *error;                              // NOLINT(cert-err60-cpp): as it came
}

}  // namespace hipq::flow
