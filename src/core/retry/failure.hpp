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

// The reasons for which an attempt can end without success. Their names appear in
// hipq.attempt.reason and job.retry_reason.
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
    predecessor_failed,
    skipped,
    // uncharged: the job goes back into its lane as if nothing had happened
    released,
    snoozed,
    conflict,
    read_only,
    stale_session,
};
inline constexpr std::size_t reason_count = 24;

std::string_view name(Reason reason);
std::optional<Reason> parse_reason(std::string_view text);

// The rules of a job type about errors. Entries are reasons ("timeout"), SQLSTATEs ("40001") or
// SQLSTATE classes ("40").
struct RetryRules {
    std::span<const std::string> retry_on;
    std::span<const std::string> do_not_retry_on;
};

// Whether `text` is a reason, a SQLSTATE (five of 0-9A-Z) or a SQLSTATE class (two of 0-9A-Z).
bool is_valid_rule(std::string_view text);

// Returns the reason for an error that a handler raised. SQLSTATE 22023 is invalid_parameters; the
// rest of class 22, and class 23, is validation_error. 42501 is permission_denied. The rest of
// class 42 (no such function, table or column, a syntax error), and 3F000 (no such schema), is
// handler_not_found: something that the handler needs does not exist. Everything else, including
// RAISE EXCEPTION (P0001), is transient_error. The caller decides first about what only it can know
// (the deadline fired, the handler itself does not exist, hipq.fail_permanently() was called).
Reason classify(std::string_view sqlstate);

// Returns whether the policy may retry: do_not_retry_on beats retry_on, which beats the reason's
// default. Jobs that are not wanted any more (is_unwanted) are never retried.
bool is_retriable(Reason reason, std::string_view sqlstate, const RetryRules &rules);

// Returns whether an error only means that the transaction conflicted with another: serialization
// failure or deadlock (40001, 40P01). The transaction had no effect, and most likely succeeds when
// started again.
bool is_conflict(std::string_view sqlstate);

// Returns whether the next call may succeed, whatever caused the error: a lost connection (class
// 08), a conflict, a server that stops or starts (57P01 and similar), or one that is read-only for
// now (25006).
bool is_passing(std::string_view sqlstate);

// The handler of a dead letter is called again after such errors, at most this often.
// handler_delay() returns the wait since the last call (microseconds) after `retries` earlier
// retries.
inline constexpr int most_handler_retries = 10;
std::int64_t handler_delay(int retries);

// How often a job may start again after conflicts without being charged.
inline constexpr int most_conflicts = 10;

// Returns how long the job waits, in microseconds, after that many earlier conflicts: between one
// and two hundredths of a second, doubling, up to about a second. `random` is uniform in [0, 1), so
// that jobs that conflicted do not meet again.
std::int64_t conflict_delay(int conflicts, double random);

// Facts about the session in which a handler failed.
struct SessionFacts {
    bool begins_read_only;  // default_transaction_read_only, of the server, database or role
    bool is_warm;           // other jobs have run in it before
};

// Returns the reason if an error is the session's fault, not the job's: read_only for 25006 in a
// session whose transactions begin read-only; stale_session for "cache lookup failed" in a warm
// session, whose cached plans may refer to dropped objects. A new session may not have the fault.
std::optional<Reason> session_fault(std::string_view sqlstate, std::string_view message,
                                    const SessionFacts &session);

// Reasons that do not cost the job a retry: all from `released` on.
bool is_uncharged(Reason reason);

// Whether the reason means that the job was not wanted any more, or could not start: it is never
// retried, and leaves no dead letter.
bool is_unwanted(Reason reason);

// Returns whether to call the retry handler for this reason: all but uncharged reasons, and those
// for which the job was not wanted any more.
bool asks_retry_handler(Reason reason);

// The policy's verdict on a failed attempt, and why.
enum class Verdict : unsigned char {
    put_back,         // uncharged
    retry,            // charged
    never_retried,    // is_unwanted
    ruled_out,        // by do_not_retry_on
    not_retriable,    // because of the reason
    no_retries_left,  // else it would be retried
    switched_off,     // else it would be retried
};

// Uncharged reasons put the job back. A retriable failure is retried while retry_count <
// max_retries and retries are enabled.
Verdict judge(Reason reason, std::string_view sqlstate, const RetryRules &rules, int retry_count,
              int max_retries, bool retries_enabled);

// What happens to a job in state `error`.
struct Decision {
    bool retry;          // false: final
    std::int64_t delay;  // microseconds from now; meaningful when retry
    bool charged;        // retry_count grows by one
};

// Returns the policy's decision by its verdict. A job that is put back runs at once; a retry runs
// after `asked` (microseconds) if given, else after the backoff delay; everything else is final.
// `random` is uniform in [0, 1).
Decision decide(Reason reason, std::string_view sqlstate, const RetryRules &rules, int retry_count,
                int max_retries, const RetryPolicy &policy, double random, bool retries_enabled,
                std::optional<std::int64_t> asked = std::nullopt);

}  // namespace hipq::core
