// Releases the jobs that come after a job in the transaction in which that one succeeds.
//
// So a chain goes on without the scheduler, and an end and what it sets free are one commit. What
// would take long, or could wait for another session, is left to the scheduler, which hears of the
// end after the commit.
#include "core/flow/waits.hpp"
#include "flow/ends_before.hpp"
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

constexpr std::size_t most_later_jobs = 100;  // of the jobs that one transaction ends

enum class Turn : unsigned char {
    now,
    later,    // other jobs before it are unfinished, and their ends are watched
    unknown,  // the scheduler decides
};

// A job that comes after one that has just succeeded.
struct Later {
    std::int64_t before_id;
    DependencyIndex::Later job;
    std::uint32_t looks;  // at the job, before the ends of the jobs before it are read
    Turn turn = Turn::unknown;
    std::int64_t unfinished = 0;  // jobs before it
};

// Nothing: there are too many.
std::optional<std::vector<Later>> find_later(DependencyIndex &dependencies,
                                             const std::vector<std::int64_t> &ended)
{
    std::vector<Later> later;
    for (const std::int64_t id : ended)
        for (const auto &job : dependencies.jobs_after(id, most_later_jobs + 1 - later.size()))
            later.push_back({id, job, wakeup::looks_at(job.job_id)});
    return later.size() > most_later_jobs ? std::nullopt : std::optional(std::move(later));
}

void find_turn(Later &later, EndsBefore &ends, const Queue &queue)
{
    if (later.job.queue_id != queue.id)
        return;
    if (later.job.is_any) {
        later.turn = Turn::now;
        return;
    }
    const auto state = ends.state_of_few(queue, later.job.job_id);
    if (!state.has_value())
        return;
    const auto verdict = core::judge(state->policy, state->on_failure, state->before);
    later.unfinished = state->before.unfinished;
    if (verdict == core::AfterVerdict::run)
        later.turn = Turn::now;
    else if (verdict == core::AfterVerdict::wait)
        later.turn = Turn::later;
}

// Nothing: they cannot be read, or are too many.
std::optional<std::vector<Later>> read_later(const Queue &queue,
                                             const std::vector<std::int64_t> &ended)
{
    const auto catalogue = catalog::catalogue();
    auto ends = EndsBefore::open(*catalogue);
    if (!ends.has_value())
        return std::nullopt;
    auto later = find_later(ends->dependencies(), ended);
    if (later.has_value() && !later->empty()) {
        ends->dependencies().see_latest();
        for (Later &each : *later)
            find_turn(each, *ends, queue);
    }
    ends->close();
    return later;
}

// Releases jobs whose turn is now, but leaves locked ones to the scheduler.
void release_ready(const Queue &queue, std::span<Later> later, pg::Time now)
{
    std::vector<std::int64_t> ready;
    for (const Later &each : later)
        if (each.turn == Turn::now)
            ready.push_back(each.job.job_id);
    std::ranges::sort(ready);
    ready.erase(std::unique(ready.begin(), ready.end()), ready.end());
    const std::vector<std::int64_t> locked = release(queue, ready, now);
    for (Later &each : later)
        if (std::ranges::find(locked, each.job.job_id) != locked.end())
            each.turn = Turn::unknown;
}

// Jobs that have ended and need no scheduler, and the looks at the jobs after each that go on
// waiting.
using Settled = std::map<std::int64_t, std::vector<wakeup::HeldLook>>;

// A look is counted once, with the number of the jobs before that have ended.
Settled settled_of(const std::vector<std::int64_t> &ended, std::span<const Later> later)
{
    Settled settled;
    for (const std::int64_t id : ended)
        settled[id] = {};
    for (const Later &each : later)
        if (each.turn == Turn::unknown)
            settled.erase(each.before_id);
    std::map<std::int64_t, std::uint32_t> ends_before;  // by later job
    for (const Later &each : later)
        ++ends_before[each.job.job_id];
    for (const Later &each : later)
        if (const auto place = settled.find(each.before_id);
            place != settled.end() && each.turn == Turn::later)
            if (const auto count = ends_before.extract(each.job.job_id); !count.empty())
                place->second.push_back({each.job.job_id, each.looks, count.mapped(),
                                         static_cast<std::uint32_t>(each.unfinished)});
    return settled;
}

Settled release_now(const Queue &queue, const std::vector<std::int64_t> &ended, pg::Time now)
{
    auto later = read_later(queue, ended);
    if (!later.has_value())
        return {};
    release_ready(queue, *later, now);
    return settled_of(ended, *later);
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
    Settled settled;
    const auto error = pg::in_subtransaction(pg::Ending::kept, [&] {
        settled = release_now(queue, ended, now);
        HIPQ_POINT("after-release");
    });
    if (!error.has_value())
        for (auto &[id, looks] : settled)
            wakeup::note_end_is_settled(id, new_waits, std::move(looks));
    else if (error->sqlstate().starts_with("57"))  // a cancellation is meant for the job
        throw *error;                              // NOLINT(cert-err60-cpp): as it came
}

}  // namespace hipq::flow
