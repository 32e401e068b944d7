// Leaving `running`, and leaving the line: every way a job changes after its claim.
//
// All need a transaction. All name the state and attempt they start from: a stale call finds
// nothing and changes nothing.
#pragma once

#include "job/claimed_job.hpp"
#include "pg/short_text.hpp"

namespace hipq::job {

// An error as a row stores it: cut, never empty, never the word for "no error".
std::string stored_error(std::string_view message);

// How an attempt failed. Its texts are made such that rows can store them when it is made: what is
// written of it never fails because of what they say.
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
    std::string error;     // message; never empty
    std::string detail;
    std::string hint;
    std::string context;
    std::optional<std::int32_t> executor_pid{};  // who ran it, where it is not this process
    // What the attempt asked for: how long a retry is to wait, in microseconds.
    std::optional<std::int64_t> retry_after{};
};

// running -> final with success, for the jobs of one call of a handler. `results` are jsonb, one
// for each job. Raises 55000 when a job is not this attempt's any more.
void finish_succeeded(const catalog::Queue &queue, std::span<const ClaimedJob> jobs,
                      std::span<const pg::RawValue> results, pg::Time now);

// Writes the history of a failed attempt.
void record_attempt(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
                    pg::Time now);

// running -> error: the failure stands, the decision is still to come. If the attempt asked for a
// delay, scheduled_run_time says until when; else it is not later than `now`. False: not this
// attempt's any more.
bool fail_to_error(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
                   pg::Time now);

// The same where it is not known which of the two it is.
bool stand_in_error(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
                    pg::Time now);

// running|error -> retry, or -> final with a dead letter, as the decision says. False: not this
// attempt's any more.
bool carry_out(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
               const core::Decision &decision, pg::Time now);

// initial|retry -> final for a job that is cancelled, expired, or failed by hand. False: it does
// not wait (any more), or somebody holds it.
bool finish_waiting(const catalog::Queue &queue, std::int64_t id, const Failure &failure,
                    pg::Time now);

// initial|retry -> error, of those that are still due and that nobody holds: nobody could be given
// them, so the number of their attempts stays. Needs a transaction, in which they are resolved
// (resolve_untried()).
std::vector<ClaimedJob> fail_untried(const catalog::Queue &queue, std::span<const DueJob> waiting,
                                     const Failure &failure, pg::Time now);

// Ends waiting jobs whose expires_time has come, at most `limit`; returns how many. One whose end
// cannot be written is set aside.
int expire_waiting(const catalog::Queue &queue, pg::Time now, int limit);

// The first expires_time to come, or infinity.
pg::Time next_expiry(const catalog::Queue &queue);

}  // namespace hipq::job
