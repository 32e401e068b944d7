// The transitions out of `running` and out of a lane: every way a job changes after its claim.
//
// All functions need a transaction. All check the state and attempt that they start from: a stale
// call finds nothing and changes nothing.
#pragma once

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"
#include "pg/short_text.hpp"

namespace hipq::job {

// An error as rows store it: truncated, never empty, never the word for "no error".
std::string stored_error(std::string_view message);

// How an attempt failed. The constructor makes the texts fit for storage, so that writing them
// never fails because of their contents.
struct Failure {
    Failure(core::Reason why, std::string_view state, std::string_view message,
            std::string_view detail_text = {}, std::string_view hint_text = {},
            std::string_view context_text = {})
        : reason(why), sqlstate(state), error(stored_error(message)),
          detail(pg::short_text(detail_text)), hint(pg::short_text(hint_text)),
          context(pg::short_text(context_text))
    {
    }

    core::Reason reason;
    std::string sqlstate;  // empty: not an error of the server
    std::string error;     // the message; never empty
    std::string detail;
    std::string hint;
    std::string context;
    std::optional<std::int32_t> executor_pid{};  // the process that ran it, if not this one
    // The delay of the retry that the attempt requested, in microseconds.
    std::optional<std::int64_t> retry_after{};
    // The job because of which this one did not start: predecessor_failed, skipped.
    std::optional<std::int64_t> cause{};
};

// running -> final with success, for the jobs of one handler call. `results` are jsonb, one per
// job. Raises 55000 if a job no longer belongs to this attempt.
void finish_succeeded(const catalog::Queue &queue, std::span<const ClaimedJob> jobs,
                      std::span<const pg::RawValue> results, pg::Time now);

// Writes the history of a failed attempt.
void record_attempt(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
                    pg::Time now);

// running -> error: the failure is recorded, the decision is still to come. If the attempt
// requested a delay, scheduled_run_time is when it ends; otherwise scheduled_run_time is not later
// than `now`. False: the job no longer belongs to this attempt.
[[nodiscard]] bool fail_to_error(const catalog::Queue &queue, const ClaimedJob &job,
                                 const Failure &failure, pg::Time now);

// The same for a job that may be in `running` or already in `error`.
[[nodiscard]] bool stand_in_error(const catalog::Queue &queue, const ClaimedJob &job,
                                  const Failure &failure, pg::Time now);

// running|error -> retry, or -> final with a dead letter, depending on the decision. False: the job
// no longer belongs to this attempt.
bool carry_out(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
               const core::Decision &decision, pg::Time now);

// initial|retry -> final for jobs that are cancelled, expired, or cannot start. Returns the jobs
// that it has ended: the others do not wait (any more), or another process holds them.
struct UnstartedEnd {
    std::int64_t job_id;
    Failure failure;  // not an error of the server
};
[[nodiscard]] std::set<std::int64_t>
finish_waiting(const catalog::Queue &queue, std::span<const UnstartedEnd> ends, pg::Time now);

// The same for one job; also for a job that is failed by hand. False: it was not ended.
[[nodiscard]] bool finish_waiting(const catalog::Queue &queue, std::int64_t id,
                                  const Failure &failure, pg::Time now);

// initial|retry -> error, for jobs that are still due and not locked. No worker could be offered
// them, so their number of attempts does not change. Needs a transaction, in which the caller also
// resolves them (resolve_untried()).
std::vector<ClaimedJob> fail_untried(const catalog::Queue &queue, std::span<const DueJob> waiting,
                                     const Failure &failure, pg::Time now);

// Ends waiting jobs whose expires_time has come, at most `limit`; returns their number. A job whose
// end cannot be written is set aside.
int expire_waiting(const catalog::Queue &queue, pg::Time now, int limit);

// The next expires_time, or infinity.
pg::Time next_expiry(const catalog::Queue &queue);

}  // namespace hipq::job
