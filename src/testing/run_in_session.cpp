// Runs jobs and calls retry handlers in the session of a client, for tests.
//
// run_until_idle() looks for the next job again after each call of a handler, which may have
// enqueued some.
#include "testing/run_in_session.hpp"

#include "admin/admin.hpp"
#include "catalog/cache.hpp"
#include "catalog/handler.hpp"
#include "claim/claim.hpp"
#include "execute/execute.hpp"
#include "flow/flow.hpp"
#include "job/claimed_job.hpp"
#include "job/current_job.hpp"
#include "job/finish.hpp"
#include "job/fitting_data.hpp"
#include "job/job_row.hpp"
#include "job/lock_attempt.hpp"
#include "pg/clock.hpp"
#include "pg/subtransaction.hpp"

namespace hipq::testing {

namespace {

using catalog::Handler;
using catalog::HandlerKind;
using catalog::JobType;
using catalog::Queue;
using job::ClaimedJob;
using job::Failure;

// A call to be made.
struct Call {
    const Queue &queue;
    std::optional<Handler> handler;  // nothing: it does not exist, and its type says to fail then
    std::vector<ClaimedJob> jobs;
};

class CurrentJobs {
public:
    CurrentJobs(const std::optional<Handler> &handler, std::span<const ClaimedJob> jobs)
    {
        execute::make_current(handler, jobs);
    }
    ~CurrentJobs() { job::set_current_jobs({}); }
    CurrentJobs(const CurrentJobs &) = delete;
    CurrentJobs &operator=(const CurrentJobs &) = delete;
};

void refuse_commit(const Handler &handler, const std::string &job_type)
{
    if (handler.may_commit)
        HIPQ_RAISE(
            errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
            errmsg("jobs of type \"%s\" cannot run in the caller's transaction", job_type.c_str()),
            errdetail("Their handler is a procedure, or a statement that is no query: it may "
                      "commit before it ends."),
            errhint("Leave them to an executor: commit, and wait with hipq.wait_for()."));
}

// ---- calling handlers ----

// A cancellation is meant for the statement that the client waits for.
void let_cancellation_through(const std::optional<pg::Error> &error)
{
    if (error.has_value() && error->sqlerrcode() == ERRCODE_QUERY_CANCELED)
        throw *error;  // NOLINT(cert-err60-cpp): as it came
}

std::vector<pg::RawValue> call_as_owner(const Queue &queue, const Handler &handler,
                                        std::span<const ClaimedJob> jobs)
{
    return pg::as_role(queue.owner, [&] {
        const execute::HandlerVisit visit;
        const execute::Listening listening;
        auto results = execute::run_handler(handler, jobs, CurrentMemoryContext);
        visit.end();
        return results;
    });
}

std::optional<Failure> call_and_finish(const Call &call, std::span<const ClaimedJob> jobs)
{
    if (!call.handler.has_value())
        return execute::missing_handler();
    const CurrentJobs current(call.handler, jobs);
    const execute::AttemptLog attempt_log(call.queue, jobs.front());
    const auto error = pg::in_subtransaction(pg::Ending::kept, [&] {
        job::demand_fitting_data(call.queue, jobs);
        execute::conclude(call.queue, jobs, call_as_owner(call.queue, *call.handler, jobs));
    });
    let_cancellation_through(error);
    return error.has_value() ? std::optional(execute::failure_of(*error)) : std::nullopt;
}

// The delay that the retry handler returned, if any, or how it failed.
using Answer = std::variant<std::optional<std::int64_t>, Failure>;

Answer ask_retry_handler(const Queue &queue, const ClaimedJob &job)
{
    const auto handler = catalog::resolve_retry_handler(queue, *queue.find_job_type(job.type));
    if (!handler.has_value())
        return execute::missing_retry_handler();
    std::optional<std::int64_t> delay;
    const auto error = pg::in_subtransaction(pg::Ending::kept, [&] {
        pg::as_role(queue.owner, [&] {
            const execute::HandlerVisit visit;
            delay = execute::run_retry_handler(*handler, job, CurrentMemoryContext);
            visit.end();
        });
    });
    let_cancellation_through(error);
    if (error.has_value())
        return execute::retry_failure_of(*error);
    return delay;
}

void decide(const Queue &queue, std::int64_t id)
{
    const auto job = job::take_for_decision(queue, id);
    if (!job.has_value())
        return;
    const Answer answer = ask_retry_handler(queue, *job);
    const pg::OwnSettings own;
    if (const auto *failure = std::get_if<Failure>(&answer))
        retry::end_undecided(queue, *job, *failure, pg::now());
    else
        retry::carry_out_answer(queue, *job, std::get<std::optional<std::int64_t>>(answer),
                                pg::now());
}

void resolve(const Call &call, ClaimedJob &job, const Failure &failure)
{
    retry::Resolved resolved = retry::Resolved::stale;
    {
        const pg::OwnSettings own;
        resolved = execute::resolve_attempt(call.queue, job, call.handler, failure);
    }
    if (resolved == retry::Resolved::ask_retry_handler)
        decide(call.queue, job.id);
}

// Runs the attempt, and after a failed batch one attempt for each of its jobs. Their rows stay
// locked in between.
void run(Call &call)
{
    auto failure = call_and_finish(call, call.jobs);
    if (!failure.has_value())
        return;
    for (ClaimedJob &job : call.jobs) {
        if (call.jobs.size() > 1)
            failure = call_and_finish(call, {&job, 1});
        if (failure.has_value())
            resolve(call, job, *failure);
    }
}

// ---- looking for jobs ----

// One call of hipq.run_until_idle().
class Runner {
public:
    Runner(int queue_id, int most)
        : queue_id_(queue_id), left_(most), memory_(pg::call([] {
              return AllocSetContextCreate(CurrentMemoryContext, "hipq run",
                                           ALLOCSET_DEFAULT_SIZES);
          }))
    {
    }

    // Returns the number of attempts.
    int run_all()
    {
        const int most = left_;
        for (bool any = true; any && left_ > 0;) {
            MemoryContext before = ::MemoryContextSwitchTo(memory_);
            any = run_next();
            ::MemoryContextSwitchTo(before);
            ::MemoryContextReset(memory_);
        }
        return most - left_;
    }

private:
    // Returns false if there is nothing to run.
    bool run_next()
    {
        const auto catalogue = catalog::working_catalogue();
        const Queue *queue = catalogue->find(queue_id_);
        if (queue == nullptr || queue->is_dropped)
            return false;
        std::optional<Call> call = take_next(*queue);
        if (!call.has_value())
            return decide_about_held(*queue);
        left_ -= static_cast<int>(call->jobs.size());
        run(*call);
        return true;
    }

    // Returns the first call of the first lane with a job to run, in the order of executors.
    std::optional<Call> take_next(const Queue &queue)
    {
        const pg::OwnSettings own;
        const pg::Time now = pg::now();
        std::vector<claim::LaneHead> heads = claim::lane_heads(queue, now);
        std::erase_if(heads, [&](const claim::LaneHead &head) { return head.due > now; });
        std::sort(heads.begin(), heads.end(), claim::runs_before);
        for (const claim::LaneHead &head : heads)
            if (auto call = take_from(queue, head, now))
                return call;
        return std::nullopt;
    }

    std::optional<Call> take_from(const Queue &queue, const claim::LaneHead &head, pg::Time now)
    {
        const JobType *type = queue.find_job_type(head.job_type);
        const bool has_handler = type != nullptr && type->handler_kind != HandlerKind::none &&
                                 type->handler_kind != HandlerKind::notify;
        if (!has_handler || queue.find_pause(head.job_type) != nullptr)
            return std::nullopt;
        Call call{queue, catalog::known_handler(queue, *type), {}};
        if (!call.handler.has_value() && !type->fails_without_handler)
            return std::nullopt;
        const bool is_batch =
            call.handler.has_value() && catalog::is_batch(call.handler->arguments);
        const int most = is_batch ? std::min(type->batch_size, left_) : 1;
        for (auto due = due_jobs(queue, head, now, most); call.jobs.empty() && !due.empty();
             due = due_jobs(queue, head, now, most)) {
            if (call.handler.has_value())
                refuse_commit(*call.handler, type->name);
            call.jobs = claim(queue, due, now);
        }
        return call.jobs.empty() ? std::nullopt : std::optional(std::move(call));
    }

    std::vector<job::DueJob> due_jobs(const Queue &queue, const claim::LaneHead &head, pg::Time now,
                                      int most) const
    {
        claim::StartWindows windows(queue.id, head.job_type, now);
        const std::size_t limit = static_cast<std::size_t>(most) + held_.size();
        auto due =
            claim::due_jobs(queue, head, now, limit, windows, queue.paused_keys(head.job_type));
        std::erase_if(due, [&](const job::DueJob &job) { return held_.contains(job.id); });
        due.resize(std::min(due.size(), static_cast<std::size_t>(most)));
        return due;
    }

    std::vector<ClaimedJob> claim(const Queue &queue, std::span<const job::DueJob> due,
                                  pg::Time now)
    {
        std::vector<ClaimedJob> jobs = claim::claim_by_lock(queue, due, now);
        for (const job::DueJob &job : due)
            if (std::none_of(jobs.begin(), jobs.end(),
                             [&](const ClaimedJob &claimed) { return claimed.id == job.id; }))
                held_.insert(job.id);
        return jobs;
    }

    // Outside of tests the scheduler does this after the commit. Returns false if no held job may
    // start.
    static bool decide_about_held(const Queue &queue)
    {
        const pg::OwnSettings own;
        const auto catalogue = catalog::catalogue();
        bool any = false;
        flow::HeldPlace place;
        flow::OpenEnds known;
        for (auto ids = flow::held_jobs(queue, place); !ids.empty();
             ids = flow::held_jobs(queue, place))
            any = flow::decide(*catalogue, queue, ids, {{}, known}, pg::now()).any || any;
        return any;
    }

    int queue_id_;
    int left_;
    MemoryContext memory_;
    std::set<std::int64_t> held_;  // jobs that other sessions hold
};

// As the scheduler does outside of tests.
void end_pauses_of(int queue_id)
{
    const pg::OwnSettings own;
    const auto catalogue = catalog::working_catalogue();
    if (const Queue *queue = catalogue->find(queue_id))
        admin::end_pauses_of(*catalogue, *queue, pg::now());
}

// ---- trying one job ----

Handler require_handler(const Queue &queue, const ClaimedJob &job)
{
    std::string problem = "the job type is not registered";
    const JobType *type = queue.find_job_type(job.type);
    const auto handler =
        type == nullptr ? std::nullopt : catalog::resolve_handler(queue, *type, &problem);
    if (!handler.has_value())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("the handler of job %lld cannot run", static_cast<long long>(job.id)),
                   errdetail("Job type \"%s\": %s.", job.type.c_str(), problem.c_str()),
                   errhint("hipq.alter_job_type() names another handler."));
    refuse_commit(*handler, job.type);
    return *handler;
}

ClaimedJob require_claim(const Queue &queue, std::int64_t id)
{
    const pg::OwnSettings own;
    auto job = claim::claim_for_trial(queue, id, pg::now());
    if (!job.has_value())
        HIPQ_RAISE(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
                   errmsg("job %lld is held by others", static_cast<long long>(id)),
                   errdetail("It is just being started, changed or finished."),
                   errhint("Try again."));
    return *job;
}

// ---- trying a failure ----

// Changes the job to its row's state while the retry handler runs.
void fail(ClaimedJob &job, const Failure &failure)
{
    job.error = failure.error;
    job.retry_reason = core::name(failure.reason);
    job::RowValues values = *job.values;
    job::make_failed(values, job.error, job.retry_reason, failure.retry_after, pg::now());
    job.values = job::kept(values);
}

[[noreturn]] void raise_of_retry_handler(const ClaimedJob &job, const Failure &failure)
{
    const std::string &state = failure.sqlstate;
    HIPQ_RAISE(
        errcode(MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4])),
        errmsg("%s", failure.error.c_str()),
        errdetail("It is the retry handler of job type \"%s\" that failed.", job.type.c_str()));
}

core::Decision decide_if_failed(const Queue &queue, ClaimedJob job, const Failure &failure)
{
    if (!retry::asks_retry_handler(queue, job, failure))
        return retry::decision_of_policy(queue, job, failure);
    execute::clear_the_way();
    fail(job, failure);
    const Answer answer = ask_retry_handler(queue, job);
    if (const auto *trouble = std::get_if<Failure>(&answer))
        raise_of_retry_handler(job, *trouble);
    return retry::decision_of_answer(queue, job, failure,
                                     std::get<std::optional<std::int64_t>>(answer));
}

}  // namespace

int run_until_idle(int queue_id, int most)
{
    end_pauses_of(queue_id);
    execute::clear_the_way();
    return Runner(queue_id, most).run_all();
}

Trial try_handler(const Queue &queue, std::int64_t id)
{
    Trial trial{{JSONBOID, Datum{0}, true}, std::nullopt, 0};
    const auto trouble = pg::in_subtransaction(pg::Ending::rolled_back, [&] {
        execute::clear_the_way();
        const ClaimedJob job = require_claim(queue, id);
        const std::optional<Handler> handler = require_handler(queue, job);
        const CurrentJobs current(handler, {&job, 1});
        const execute::AttemptLog attempt_log(queue, job);
        const TimestampTz start = ::GetCurrentTimestamp();
        trial.error = pg::in_subtransaction(pg::Ending::rolled_back, [&] {
            job::demand_fitting_data(queue, {&job, 1});
            trial.result = call_as_owner(queue, *handler, {&job, 1}).front();
        });
        trial.duration = ::GetCurrentTimestamp() - start;
    });
    if (trouble.has_value())
        throw *trouble;  // NOLINT(cert-err60-cpp): as it came
    let_cancellation_through(trial.error);
    return trial;
}

std::optional<std::int64_t> try_failure(const Queue &queue, std::int64_t id, const Failure &failure)
{
    core::Decision decision{};
    const auto trouble = pg::in_subtransaction(pg::Ending::rolled_back, [&] {
        decision = decide_if_failed(queue, require_claim(queue, id), failure);
    });
    if (trouble.has_value())
        throw *trouble;  // NOLINT(cert-err60-cpp): as it came
    return decision.retry ? std::optional(decision.delay) : std::nullopt;
}

}  // namespace hipq::testing
