// Decides about a job by the ends of the jobs before it.
#include "core/flow/waits.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace hipq::core {

namespace {

// In the order of the enumerations.
constexpr std::array<std::string_view, 2> awaited_names{"jobs", "key"};
constexpr std::array<std::string_view, 4> policy_names{"succeeded", "finished", "any", "failed"};
constexpr std::array<std::string_view, 3> on_failure_names{"fail", "skip", "run"};

template <class Value, std::size_t size>
std::optional<Value> parse(const std::array<std::string_view, size> &names, std::string_view text)
{
    const auto found = std::ranges::find(names, text);
    if (found == names.end())
        return std::nullopt;
    return static_cast<Value>(found - names.begin());
}

// The policy can no longer be met.
AfterVerdict react(OnFailure on_failure, const Before &before)
{
    if (on_failure == OnFailure::run)
        return before.unfinished > 0 ? AfterVerdict::wait : AfterVerdict::run;
    const bool fails = on_failure == OnFailure::fail && before.failed > 0;
    return fails ? AfterVerdict::fail : AfterVerdict::skip;
}

// One of the jobs before is enough; `count`: of those that have ended as the policy says.
AfterVerdict judge_one(std::int64_t count, OnFailure on_failure, const Before &before)
{
    if (count > 0)
        return AfterVerdict::run;
    return before.unfinished > 0 ? AfterVerdict::wait : react(on_failure, before);
}

}  // namespace

std::string_view name(WaitsFor waits_for)
{
    return awaited_names[static_cast<std::size_t>(waits_for)];
}

std::optional<WaitsFor> parse_waits_for(std::string_view text)
{
    return parse<WaitsFor>(awaited_names, text);
}

std::string_view name(AfterPolicy policy)
{
    return policy_names[static_cast<std::size_t>(policy)];
}

std::optional<AfterPolicy> parse_after_policy(std::string_view text)
{
    return parse<AfterPolicy>(policy_names, text);
}

std::string_view name(OnFailure on_failure)
{
    return on_failure_names[static_cast<std::size_t>(on_failure)];
}

std::optional<OnFailure> parse_on_failure(std::string_view text)
{
    return parse<OnFailure>(on_failure_names, text);
}

std::string_view rule_text(AfterPolicy policy, OnFailure on_failure)
{
    constexpr std::string_view after_all = "It starts when all have ended, successfully or not.";
    // By policy, and for each by what happens on failure.
    constexpr std::string_view after_failure =
        "It starts when one has failed, and is skipped if none does.";
    constexpr std::array<std::array<std::string_view, 3>, 4> rules{
        {{"It starts when all have succeeded, and fails if one of them does not.",
          "It starts when all have succeeded, and is skipped if one of them does not.", after_all},
         {after_all, after_all, after_all},
         {"It starts when one has succeeded, and fails if none of them does.",
          "It starts when one has succeeded, and is skipped if none of them does.",
          "It starts when one has succeeded, or all have ended."},
         {after_failure, after_failure, "It starts when one has failed, or all have ended."}}};
    return rules[static_cast<std::size_t>(policy)][static_cast<std::size_t>(on_failure)];
}

AfterVerdict judge(AfterPolicy policy, OnFailure on_failure, const Before &before)
{
    if (policy == AfterPolicy::any)
        return judge_one(before.succeeded, on_failure, before);
    if (policy == AfterPolicy::failed)
        return judge_one(before.failed, on_failure, before);
    const bool is_broken =
        policy == AfterPolicy::succeeded && (before.failed > 0 || before.skipped > 0);
    if (is_broken)
        return react(on_failure, before);
    return before.unfinished > 0 ? AfterVerdict::wait : AfterVerdict::run;
}

}  // namespace hipq::core
