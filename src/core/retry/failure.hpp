// Why an attempt failed, and what follows from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/retry/backoff.hpp"

namespace hipq::core {

// The reasons an attempt can end without success; the names are what hipq.attempt.reason and
// job.retry_reason show.
enum class Reason : unsigned char {
    // retriable
    worker_unavailable,
    queue_timeout,
    worker_heartbeat_stale,
    worker_lost,
    server_restart,
    crashed,
    timeout,
    transient_error,
    manual_retry,
    // final at once
    validation_error,
    permission_denied,
    handler_not_found,
    invalid_parameters,
    explicit_failure,
    retry_handler_failed,
    cancelled,
    expired,
    // uncharged: the job goes back into its lane as if nothing had happened
    released,
    snoozed,
    conflict,
    read_only,
    stale_session,
};
inline constexpr std::size_t reason_count = 22;

std::string_view name(Reason reason);
std::optional<Reason> parse_reason(std::string_view text);

// What a job type says about errors: entries are reasons ("timeout"), SQLSTATEs ("40001") or
// SQLSTATE classes ("40").
struct RetryRules {
    std::span<const std::string> retry_on;
    std::span<const std::string> do_not_retry_on;
};

// Whether `text` is a reason, a SQLSTATE (five of 0-9A-Z) or a SQLSTATE class (two of 0-9A-Z).
bool is_valid_rule(std::string_view text);

// The reason for an error that a handler raised. SQLSTATE 22023 is invalid_parameters, classes 22
// and 23 are validation_error otherwise; 42501 is permission_denied, and what else is of class 42
// (no such function, table or column, a syntax error), or 3F000 (no such schema), is
// handler_not_found: what the handler needs is not there. Everything else, RAISE EXCEPTION (P0001)
// included, is transient_error. What only the caller can know (the deadline fired, the handler
// itself does not exist, hipq.fail_permanently() was called) it decides before asking.
Reason classify(std::string_view sqlstate);

// Whether the policy may retry: do_not_retry_on beats retry_on beats the reason's own nature.
// cancelled and expired never retry.
bool is_retriable(Reason reason, std::string_view sqlstate, const RetryRules &rules);

// Whether an error only says that the transaction was in the way of another one: serialization
// failure or deadlock (40001, 40P01). Begun anew, it most likely succeeds; nothing of it has
// happened.
bool is_conflict(std::string_view sqlstate);

// Whether the next call may succeed, whatever caused the error: a lost connection (class 08),
// a conflict, a server that stops or starts (57P01 and the like), one that is read-only for now
// (25006).
bool is_passing(std::string_view sqlstate);

// The handler of a dead letter is called again after such errors: so often, and so long after the
// last call (microseconds), which `retries` others came before.
inline constexpr int most_handler_retries = 10;
std::int64_t handler_delay(int retries);

// How often a job may begin anew for conflicts without being charged.
inline constexpr int most_conflicts = 10;

// How long it waits, in microseconds, after so many before: between one and two hundredths of a
// second, doubling, about a second at most. `random` is uniform in [0, 1): those that met must not
// meet again.
std::int64_t conflict_delay(int conflicts, double random);

// What is known of the session in which a handler failed.
struct SessionFacts {
    bool begins_read_only;  // default_transaction_read_only, of the server, database or role
    bool is_warm;           // other jobs have run in it before
};

// The reason if an error is the session's fault, not the job's: read_only for 25006 in a session
// whose transactions begin read-only, stale_session for "cache lookup failed" in a warm one, whose
// cached plans may name dropped objects. A new session may not have the fault.
std::optional<Reason> session_fault(std::string_view sqlstate, std::string_view message,
                                    const SessionFacts &session);

// Reasons that cost the job no retry: those from released on.
bool is_uncharged(Reason reason);

// Whether a retry handler is asked about this reason (all but those that cost none, cancelled,
// expired).
bool asks_retry_handler(Reason reason);

// What the policy says of a failed attempt, and why.
enum class Verdict : unsigned char {
    put_back,         // uncharged
    retry,            // charged
    never_retried,    // cancelled, expired
    ruled_out,        // by do_not_retry_on
    not_retriable,    // by the nature of the reason
    no_retries_left,  // it would be retried otherwise
    switched_off,     // it would be retried otherwise
};

// Uncharged reasons put the job back; a retriable failure is retried while retry_count <
// max_retries and retries are enabled.
Verdict judge(Reason reason, std::string_view sqlstate, const RetryRules &rules, int retry_count,
              int max_retries, bool retries_enabled);

// What becomes of a job in `error`.
struct Decision {
    bool retry;          // false: final
    std::int64_t delay;  // microseconds from now; meaningful when retry
    bool charged;        // retry_count grows by one
};

// The decision of the policy by its verdict: what is put back runs at once, a retry after `asked`
// (microseconds), else after backoff; everything else is final. `random` is uniform in [0, 1).
Decision decide(Reason reason, std::string_view sqlstate, const RetryRules &rules, int retry_count,
                int max_retries, const RetryPolicy &policy, double random, bool retries_enabled,
                std::optional<std::int64_t> asked = std::nullopt);

}  // namespace hipq::core
