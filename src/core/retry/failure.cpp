// Implements the failure classes and the retry policy. The caller handles what only it can know
// (that a deadline fired, that the handler itself is missing) and the delay that a snooze or a
// retry handler requested.
#include "core/retry/failure.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text/characters.hpp"

namespace hipq::core {

namespace {

constexpr std::array<std::string_view, reason_count> reason_names{
    "worker_unavailable",
    "queue_timeout",
    "worker_heartbeat_stale",
    "worker_lost",
    "server_restart",
    "crashed",
    "timeout",
    "transient_error",
    "manual_retry",
    "validation_error",
    "permission_denied",
    "handler_not_found",
    "invalid_parameters",
    "explicit_failure",
    "retry_handler_failed",
    "cancelled",
    "expired",
    "predecessor_failed",
    "skipped",
    "released",
    "snoozed",
    "conflict",
    "read_only",
    "stale_session",
};
static_assert(reason_names.back() == "stale_session" &&
              static_cast<std::size_t>(Reason::stale_session) == reason_count - 1);

constexpr std::size_t sqlstate_length = 5;
constexpr std::size_t sqlstate_class_length = 2;

bool is_sqlstate_text(std::string_view text)
{
    return std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'A' && c <= 'Z'); });
}

// A failure without SQLSTATE (a timeout, for example) has an empty one, which no rule may match.
bool matches(std::string_view rule, Reason reason, std::string_view sqlstate)
{
    if (rule.size() == sqlstate_class_length)
        return sqlstate.starts_with(rule);
    if (rule.size() == sqlstate_length && sqlstate == rule)
        return true;
    return rule == name(reason);
}

bool matches_any(std::span<const std::string> rules, Reason reason, std::string_view sqlstate)
{
    return std::ranges::any_of(
        rules, [&](const std::string &rule) { return matches(rule, reason, sqlstate); });
}

// Applies when the job type has no rule for the reason.
bool is_retriable_by_nature(Reason reason)
{
    return reason <= Reason::manual_retry || is_uncharged(reason);
}

}  // namespace

std::string_view name(Reason reason)
{
    return reason_names[static_cast<std::size_t>(reason)];
}

std::optional<Reason> parse_reason(std::string_view text)
{
    const auto found = std::ranges::find(reason_names, text);
    if (found == reason_names.end())
        return std::nullopt;
    return static_cast<Reason>(found - reason_names.begin());
}

bool is_valid_rule(std::string_view text)
{
    const bool has_sqlstate_length =
        text.size() == sqlstate_length || text.size() == sqlstate_class_length;
    return (has_sqlstate_length && is_sqlstate_text(text)) || parse_reason(text).has_value();
}

Reason classify(std::string_view sqlstate)
{
    if (sqlstate == "22023")
        return Reason::invalid_parameters;
    if (sqlstate.starts_with("22") || sqlstate.starts_with("23"))
        return Reason::validation_error;
    if (sqlstate == "42501")
        return Reason::permission_denied;
    if (sqlstate.starts_with("42") || sqlstate == "3F000")
        return Reason::handler_not_found;
    return Reason::transient_error;
}

bool is_retriable(Reason reason, std::string_view sqlstate, const RetryRules &rules)
{
    if (is_unwanted(reason))
        return false;
    if (matches_any(rules.do_not_retry_on, reason, sqlstate))
        return false;
    return matches_any(rules.retry_on, reason, sqlstate) || is_retriable_by_nature(reason);
}

bool is_conflict(std::string_view sqlstate)
{
    return sqlstate == "40001" || sqlstate == "40P01";
}

bool is_passing(std::string_view sqlstate)
{
    return sqlstate.starts_with("08") || sqlstate.starts_with("57P0") || sqlstate == "25006" ||
           is_conflict(sqlstate);
}

std::int64_t handler_delay(int retries)
{
    constexpr std::int64_t first = 1'000'000;
    constexpr std::int64_t longest = 300'000'000;
    return std::min(first << std::clamp(retries, 0, most_handler_retries), longest);
}

std::int64_t conflict_delay(int conflicts, double random)
{
    constexpr double first = 10'000;
    constexpr int most_doublings = 6;
    return std::llround(std::ldexp(first, std::clamp(conflicts, 0, most_doublings)) *
                        (1.0 + random));
}

std::optional<Reason> session_fault(std::string_view sqlstate, std::string_view message,
                                    const SessionFacts &session)
{
    if (sqlstate == "25006" && session.begins_read_only)
        return Reason::read_only;
    if (sqlstate == "XX000" && message.starts_with("cache lookup failed") && session.is_warm)
        return Reason::stale_session;
    return std::nullopt;
}

bool is_uncharged(Reason reason)
{
    return reason >= Reason::released;
}

bool is_unwanted(Reason reason)
{
    return reason >= Reason::cancelled && reason <= Reason::skipped;
}

bool asks_retry_handler(Reason reason)
{
    return !is_uncharged(reason) && !is_unwanted(reason);
}

Verdict judge(Reason reason, std::string_view sqlstate, const RetryRules &rules, int retry_count,
              int max_retries, bool retries_enabled)
{
    if (is_uncharged(reason))
        return Verdict::put_back;
    if (is_unwanted(reason))
        return Verdict::never_retried;
    if (!is_retriable(reason, sqlstate, rules))
        return matches_any(rules.do_not_retry_on, reason, sqlstate) ? Verdict::ruled_out
                                                                    : Verdict::not_retriable;
    if (retry_count >= max_retries)
        return Verdict::no_retries_left;
    return retries_enabled ? Verdict::retry : Verdict::switched_off;
}

Decision decide(Reason reason, std::string_view sqlstate, const RetryRules &rules, int retry_count,
                int max_retries, const RetryPolicy &policy, double random, bool retries_enabled,
                std::optional<std::int64_t> asked)
{
    const Verdict verdict =
        judge(reason, sqlstate, rules, retry_count, max_retries, retries_enabled);
    if (verdict == Verdict::put_back)
        return {.retry = true, .delay = 0, .charged = false};
    if (verdict != Verdict::retry)
        return {.retry = false, .delay = 0, .charged = false};
    const std::int64_t delay = asked.value_or(retry_delay(policy, retry_count, random));
    return {.retry = true, .delay = delay, .charged = true};
}

}  // namespace hipq::core
