// Leaving `running`, and leaving the line: every way a job changes after its claim.
//
// All need a transaction. All name the state and attempt they start from: a stale call finds nothing and changes nothing.
#pragma once

#include "storage/claim.hpp"

namespace hipq::storage {

// How an attempt failed.
struct Failure {
    core::Reason reason;
    std::string sqlstate;  // empty: not an error of the server
    std::string error;     // message; never empty
    std::string detail{};
    std::string hint{};
    std::string context{};
    std::optional<std::int32_t> executor_pid{};  // who ran it, where it is not this process
};

// running -> final with success, for the jobs of one call of a handler. `results` are jsonb, one for each job. Raises 55000 when
// a job is not this attempt's any more.
void finish_succeeded(const Queue &queue, std::span<const ClaimedJob> jobs, std::span<const pg::RawValue> results, pg::Time now);

// Writes the history of a failed attempt.
void record_attempt(const Queue &queue, const ClaimedJob &job, const Failure &failure, pg::Time now);

// running -> error: the failure stands, the decision is still to come. False: not this attempt's any more.
bool fail_to_error(const Queue &queue, const ClaimedJob &job, const Failure &failure, pg::Time now);

// running|error -> retry, or -> final with a dead letter, as the decision says. False: not this attempt's any more.
bool carry_out(const Queue &queue, const ClaimedJob &job, const Failure &failure, const core::Decision &decision, pg::Time now);

// initial|retry -> final for a job that is cancelled, expired, or failed by hand. False: it does not wait (any more), or somebody
// holds it.
bool finish_waiting(const Queue &queue, std::int64_t id, const Failure &failure, pg::Time now);

// Ends waiting jobs whose expires_time has come, at most `limit`; returns how many.
int expire_waiting(const Queue &queue, pg::Time now, int limit);

// The first expires_time to come, or infinity.
pg::Time next_expiry(const Queue &queue);

}  // namespace hipq::storage
