// Decides about held jobs by the ends of the jobs before them.
//
// A job that goes on waiting has one unfinished job before it watched. The state is read again
// afterwards, because that one may have ended in between, unless it was surely watched before the
// state was read: reported, or added in an earlier round (core/flow/watch_protocol.hpp).
#include "flow/flow.hpp"

#include "catalog/queue_statements.hpp"
#include "core/job/unique_key.hpp"
#include "flow/ends_before.hpp"
#include "flow/release.hpp"
#include "job/finish.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "shared/wakeup/watched_jobs.hpp"

namespace hipq::flow {

namespace {

using catalog::Catalogue;
using catalog::Queue;
using core::AfterVerdict;
using job::WaitState;

job::Failure failure_of(const WaitState &state, AfterVerdict verdict)
{
    const core::Reason reason =
        verdict == AfterVerdict::skip ? core::Reason::skipped : core::Reason::predecessor_failed;
    job::Failure failure{reason, "",
                         "did not start because job " + std::to_string(state.cause.value_or(0)) +
                             ", which it came after, did not succeed"};
    failure.cause = state.cause;
    return failure;
}

// One round of decisions.
struct Round {
    const std::set<std::int64_t> &watched;  // before the state was read
    std::set<std::int64_t> added{};         // to the filter
    Decisions decisions{};
    std::vector<std::int64_t> to_release{};
    std::vector<job::UnstartedEnd> to_end{};
    std::vector<std::int64_t> to_read_again{};

    void note(std::int64_t id, bool is_done)
    {
        if (is_done)
            decisions.any = true;
        else
            decisions.locked.push_back(id);
    }

    void wait(const WaitState &state)
    {
        watch(state.job_id, state.to_watch);
        if (state.is_joined)
            decisions.locked.push_back(state.job_id);
        if (state.look_again.has_value())
            decisions.look_again[state.job_id] = *state.look_again;
    }

    // The job goes on waiting for those. None: they have ended since the state was read.
    void watch(std::int64_t id, std::span<const std::int64_t> before)
    {
        for (const std::int64_t each : before)
            wakeup::watch_job(each);
        added.insert(before.begin(), before.end());
        const auto was_watched = [&](std::int64_t each) { return watched.contains(each); };
        if (before.empty() || !std::ranges::all_of(before, was_watched))
            to_read_again.push_back(id);
    }
};

void decide_by_jobs(const WaitState &state, Round &round)
{
    const AfterVerdict verdict = core::judge(state.policy, state.on_failure, state.before);
    if (verdict == AfterVerdict::run)
        round.to_release.push_back(state.job_id);
    else if (verdict != AfterVerdict::wait)
        round.to_end.push_back({state.job_id, failure_of(state, verdict)});
    else
        round.wait(state);
}

// A held job; of one that follows the job with its key, also that job, if there is one.
struct Held {
    std::int64_t id;
    bool is_follower;
    std::optional<std::int64_t> holder;
};

// The row that the follower has in hipq.dependency may name an earlier holder of its key. An end of
// the present one that does not see the changed row yet must be looked at after the commit.
void decide_by_key(const Queue &queue, const Held &held, Round &round, pg::Time now)
{
    if (!held.holder.has_value()) {
        round.note(held.id, release_follower(queue, held.id, now));
        return;
    }
    if (job::follow(queue, held.id, *held.holder))
        wakeup::watch_older_job(*held.holder);
    round.watch(held.id, {&*held.holder, 1});
}

// Jobs that were released, ended or cancelled in the meantime are not held any more.
constexpr const char *held_sql = R"(
    SELECT job.id, job.waits_for = 'key', holder.id
    FROM {live} AS job
    LEFT JOIN LATERAL (
        SELECT holder.id FROM {live} AS holder
        WHERE job.waits_for = 'key' AND holder.job_type = job.job_type AND holder.job_key = job.job_key
          AND holder.job_key <> 'NONE' AND holder.waits_for IS DISTINCT FROM 'key'
          {+AND holder.shard_key COLLATE "C" = job.shard_key COLLATE "C"+}
    ) AS holder ON true
    WHERE job.id = ANY ($1) AND {held job})";

std::vector<Held> read_held(const Queue &queue, const std::vector<std::int64_t> &ids)
{
    std::vector<Held> held;
    for (const pg::Row row :
         pg::as_hipq([&] { return catalog::statement_for(queue, held_sql).run(ids); }))
        held.push_back({row.integer(0), row.boolean(1), row.maybe_integer(2)});
    return held;
}

// States that need no SQL come first.
std::vector<WaitState> read_states(const Catalogue &catalogue, const Queue &queue,
                                   std::span<const std::int64_t> ids, const Reports &reports)
{
    std::vector<WaitState> states;
    std::vector<std::int64_t> by_sql;
    auto ends = ids.empty() ? std::nullopt : EndsBefore::open(catalogue);
    for (const std::int64_t id : ids) {
        auto state = ends.has_value() ? ends->state_of(queue, id, reports.ended, reports.known)
                                      : std::nullopt;
        if (state.has_value())
            states.push_back(std::move(*state));
        else
            by_sql.push_back(id);
    }
    if (ends.has_value())
        ends->close();
    if (!by_sql.empty())
        std::ranges::move(job::wait_states(catalogue, queue, by_sql), std::back_inserter(states));
    return states;
}

Round decide_now(const Catalogue &catalogue, const Queue &queue,
                 const std::vector<std::int64_t> &ids, const Reports &reports,
                 const std::set<std::int64_t> &watched, pg::Time now)
{
    Round round{watched};
    std::vector<std::int64_t> by_jobs;
    for (const Held &held : read_held(queue, ids))
        if (held.is_follower)
            decide_by_key(queue, held, round, now);
        else
            by_jobs.push_back(held.id);
    for (const std::int64_t id : by_jobs)
        (void)wakeup::count_looks(id, core::few_jobs_before);  // before the ends are read
    for (const WaitState &state : read_states(catalogue, queue, by_jobs, reports))
        decide_by_jobs(state, round);
    const std::set<std::int64_t> ended = job::finish_waiting(queue, round.to_end, now);
    for (const job::UnstartedEnd &end : round.to_end)
        round.note(end.job_id, ended.contains(end.job_id));
    const std::vector<std::int64_t> locked = release(queue, round.to_release, now);
    round.decisions.any = round.decisions.any || locked.size() < round.to_release.size();
    round.decisions.locked.insert(round.decisions.locked.end(), locked.begin(), locked.end());
    return round;
}

}  // namespace

Decisions decide(const Catalogue &catalogue, const Queue &queue, std::vector<std::int64_t> ids,
                 const Reports &reports, pg::Time now)
{
    std::set<std::int64_t> watched = reports.ended;
    Decisions all;
    while (!ids.empty()) {
        Round round = decide_now(catalogue, queue, ids, reports, watched, now);
        all.any = all.any || round.decisions.any;
        all.locked.insert(all.locked.end(), round.decisions.locked.begin(),
                          round.decisions.locked.end());
        all.look_again.merge(round.decisions.look_again);
        ids = std::move(round.to_read_again);
        watched.merge(round.added);
    }
    return all;
}

}  // namespace hipq::flow
