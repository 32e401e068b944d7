// What the ends of the jobs before a job decide: a table of all cases, which tests compare with the
// rule for each policy, each reaction to failure and small numbers of jobs.
#include "core/flow/waits.hpp"

#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace hipq::core {

// For messages.
std::ostream &operator<<(std::ostream &out, AfterVerdict verdict)
{
    constexpr std::array<const char *, 4> names{"wait", "run", "fail", "skip"};
    return out << names.at(static_cast<std::size_t>(verdict));
}

namespace {

constexpr std::array policies{AfterPolicy::succeeded, AfterPolicy::finished, AfterPolicy::any,
                              AfterPolicy::failed};
constexpr std::array reactions{OnFailure::fail, OnFailure::skip, OnFailure::run};

std::string text(AfterPolicy policy, OnFailure on_failure, const Before &before)
{
    return std::string(name(policy)) + ", on_failure " + std::string(name(on_failure)) + ": " +
           std::to_string(before.unfinished) + " unfinished, " + std::to_string(before.succeeded) +
           " succeeded, " + std::to_string(before.skipped) + " skipped, " +
           std::to_string(before.failed) + " failed";
}

// ---- the table ----
//
// Numbers do not matter, only whether there is a job of a kind among those before. The policies:
//
// succeeded  Runs when all have succeeded. As soon as one fails or is skipped, the job fails
//            with it, is skipped with it, or (run) waits for the others, and runs.
// finished   Runs when all have ended, so that nothing can fail it.
// any        Runs as soon as one has succeeded. When all have ended without success, the job
//            fails, is skipped, or (run) runs.
// failed     Runs as soon as one has failed. When all have ended without failure, the job is
//            skipped, or (run) runs.
//
// A job that would fail is skipped if those before it that did not succeed were skipped, too.

struct Row {
    std::string_view before;  // which kinds there are: unfinished, succeeded, skipped, failed
    // w: waits, r: runs, f: fails, s: is skipped. A letter for each on_failure: fail, skip, run.
    std::string_view succeeded;
    std::string_view finished;
    std::string_view any;
    std::string_view failed;
};

constexpr std::array table{
    Row{"", "rrr", "rrr", "ssr", "ssr"},  // of no jobs, all have succeeded, and none has
    Row{"succeeded", "rrr", "rrr", "rrr", "ssr"},
    Row{"skipped", "ssr", "rrr", "ssr", "ssr"},
    Row{"failed", "fsr", "rrr", "fsr", "rrr"},
    Row{"succeeded skipped", "ssr", "rrr", "rrr", "ssr"},
    Row{"succeeded failed", "fsr", "rrr", "rrr", "rrr"},
    Row{"skipped failed", "fsr", "rrr", "fsr", "rrr"},
    Row{"succeeded skipped failed", "fsr", "rrr", "rrr", "rrr"},
    Row{"unfinished", "www", "www", "www", "www"},
    Row{"unfinished succeeded", "www", "www", "rrr", "www"},
    Row{"unfinished skipped", "ssw", "www", "www", "www"},
    Row{"unfinished failed", "fsw", "www", "www", "rrr"},
    Row{"unfinished succeeded skipped", "ssw", "www", "rrr", "www"},
    Row{"unfinished succeeded failed", "fsw", "www", "rrr", "rrr"},
    Row{"unfinished skipped failed", "fsw", "www", "www", "rrr"},
    Row{"unfinished succeeded skipped failed", "fsw", "www", "rrr", "rrr"},
};

std::string kinds_of(const Before &before)
{
    std::string kinds;
    const auto add = [&](std::int64_t count, const char *kind) {
        if (count > 0)
            kinds.append(kinds.empty() ? "" : " ").append(kind);
    };
    add(before.unfinished, "unfinished");
    add(before.succeeded, "succeeded");
    add(before.skipped, "skipped");
    add(before.failed, "failed");
    return kinds;
}

AfterVerdict verdict_of(char letter)
{
    switch (letter) {
    case 'w':
        return AfterVerdict::wait;
    case 'r':
        return AfterVerdict::run;
    case 'f':
        return AfterVerdict::fail;
    default:
        return AfterVerdict::skip;
    }
}

AfterVerdict expected(AfterPolicy policy, OnFailure on_failure, const Before &before)
{
    const std::string kinds = kinds_of(before);
    for (const Row &row : table)
        if (row.before == kinds) {
            const std::array letters{row.succeeded, row.finished, row.any, row.failed};
            return verdict_of(letters.at(static_cast<std::size_t>(policy))
                                  .at(static_cast<std::size_t>(on_failure)));
        }
    ADD_FAILURE() << "no row for: " << kinds;
    return AfterVerdict::wait;
}

// Calls `check` for each policy, each reaction, and up to `most` jobs of each kind.
template <class Check>
void for_each_case(std::int64_t most, const Check &check)
{
    for (const AfterPolicy policy : policies)
        for (const OnFailure on_failure : reactions)
            for (std::int64_t unfinished = 0; unfinished <= most; ++unfinished)
                for (std::int64_t succeeded = 0; succeeded <= most; ++succeeded)
                    for (std::int64_t skipped = 0; skipped <= most; ++skipped)
                        for (std::int64_t failed = 0; failed <= most; ++failed)
                            check(policy, on_failure,
                                  Before{unfinished, succeeded, skipped, failed});
}

// All ways in which the unfinished jobs may end, some of them or all.
std::vector<Before> futures_of(const Before &before)
{
    std::vector<Before> futures;
    for (std::int64_t succeed = 0; succeed <= before.unfinished; ++succeed)
        for (std::int64_t skip = 0; succeed + skip <= before.unfinished; ++skip)
            for (std::int64_t fail = 0; succeed + skip + fail <= before.unfinished; ++fail)
                futures.push_back({before.unfinished - succeed - skip - fail,
                                   before.succeeded + succeed, before.skipped + skip,
                                   before.failed + fail});
    return futures;
}

}  // namespace

// ---- judge ----

TEST(Waits, EachCaseIsDecidedAsTheTableSays)
{
    int cases = 0;
    std::set<std::string> rows;
    for_each_case(3, [&](AfterPolicy policy, OnFailure on_failure, const Before &before) {
        EXPECT_EQ(judge(policy, on_failure, before), expected(policy, on_failure, before))
            << text(policy, on_failure, before);
        rows.insert(kinds_of(before));
        ++cases;
    });
    EXPECT_EQ(cases, 4 * 3 * 256);
    EXPECT_EQ(rows.size(), table.size());
}

TEST(Waits, OnlyUnfinishedJobsAreWaitedFor)
{
    for_each_case(3, [](AfterPolicy policy, OnFailure on_failure, const Before &before) {
        const bool waits = judge(policy, on_failure, before) == AfterVerdict::wait;
        EXPECT_TRUE(!waits || before.unfinished > 0) << text(policy, on_failure, before);
    });
}

// A job ends, or starts, once. One case depends on which end is seen first: a job that fails with
// others is skipped as soon as one of them was skipped and none has failed.
TEST(Waits, ADecisionHoldsHoweverTheOthersEnd)
{
    for_each_case(2, [](AfterPolicy policy, OnFailure on_failure, const Before &before) {
        const AfterVerdict verdict = judge(policy, on_failure, before);
        if (verdict == AfterVerdict::wait)
            return;
        for (const Before &future : futures_of(before)) {
            const AfterVerdict later = judge(policy, on_failure, future);
            const bool is_that_case = policy == AfterPolicy::succeeded &&
                                      on_failure == OnFailure::fail && before.failed == 0 &&
                                      before.skipped > 0 && future.failed > 0;
            EXPECT_EQ(later, is_that_case ? AfterVerdict::fail : verdict)
                << text(policy, on_failure, before) << "; later "
                << text(policy, on_failure, future);
        }
    });
}

// Policy finished, and on_failure run once a job has not succeeded, wait for all ends by rule.
TEST(Waits, AJobWaitsOnlyAsLongAsThereIsAChoice)
{
    for_each_case(2, [](AfterPolicy policy, OnFailure on_failure, const Before &before) {
        if (judge(policy, on_failure, before) != AfterVerdict::wait)
            return;
        if (policy == AfterPolicy::finished || on_failure == OnFailure::run)
            return;
        std::set<AfterVerdict> ends;
        for (const Before &future : futures_of(before))
            if (future.unfinished == 0)
                ends.insert(judge(policy, on_failure, future));
        EXPECT_GT(ends.size(), 1U) << text(policy, on_failure, before);
    });
}

TEST(Waits, LargeNumbersAreCounted)
{
    constexpr std::int64_t many = 10'000'000'000;
    EXPECT_EQ(judge(AfterPolicy::succeeded, OnFailure::fail, {0, many, 0, 0}), AfterVerdict::run);
    EXPECT_EQ(judge(AfterPolicy::succeeded, OnFailure::fail, {many, many, 0, 1}),
              AfterVerdict::fail);
    EXPECT_EQ(judge(AfterPolicy::any, OnFailure::fail, {many, 1, 0, 0}), AfterVerdict::run);
    EXPECT_EQ(judge(AfterPolicy::finished, OnFailure::fail, {1, many, many, many}),
              AfterVerdict::wait);
}

// ---- words ----

TEST(Waits, TheirNamesReadBack)
{
    EXPECT_EQ(name(WaitsFor::jobs), "jobs");
    EXPECT_EQ(name(WaitsFor::key), "key");
    for (const WaitsFor each : {WaitsFor::jobs, WaitsFor::key})
        EXPECT_EQ(parse_waits_for(name(each)), each);
    EXPECT_EQ(name(AfterPolicy::succeeded), "succeeded");
    EXPECT_EQ(name(AfterPolicy::finished), "finished");
    EXPECT_EQ(name(AfterPolicy::any), "any");
    EXPECT_EQ(name(AfterPolicy::failed), "failed");
    for (const AfterPolicy each : policies)
        EXPECT_EQ(parse_after_policy(name(each)), each);
    EXPECT_EQ(name(OnFailure::fail), "fail");
    EXPECT_EQ(name(OnFailure::skip), "skip");
    EXPECT_EQ(name(OnFailure::run), "run");
    for (const OnFailure each : reactions)
        EXPECT_EQ(parse_on_failure(name(each)), each);
}

TEST(Waits, OtherWordsAreNoNames)
{
    for (const std::string_view word : {"", "none", "NONE", "Any", "any ", "jobs,key", "failure"}) {
        EXPECT_EQ(parse_waits_for(word), std::nullopt) << word;
        EXPECT_EQ(parse_on_failure(word), std::nullopt) << word;
        EXPECT_EQ(parse_after_policy(word), std::nullopt) << word;
    }
    EXPECT_EQ(parse_waits_for("any"), std::nullopt);
    EXPECT_EQ(parse_after_policy("fail"), std::nullopt);
    EXPECT_EQ(parse_on_failure("succeeded"), std::nullopt);
}

// ---- rule_text ----

TEST(Waits, RuleTextIsASentence)
{
    for (const AfterPolicy policy : policies)
        for (const OnFailure on_failure : reactions) {
            const std::string_view rule = rule_text(policy, on_failure);
            EXPECT_TRUE(rule.starts_with("It starts when ") && rule.ends_with(".")) << rule;
        }
}

// The sentence names the ends without a start that the rule decides, and no others.
TEST(Waits, RuleTextSaysWhatTheRuleDoes)
{
    for (const AfterPolicy policy : policies)
        for (const OnFailure on_failure : reactions) {
            const std::string rule(rule_text(policy, on_failure));
            const auto says = [&](const char *words) {
                return rule.find(words) != std::string::npos;
            };
            const auto decides = [&](const Before &before) {
                return judge(policy, on_failure, before);
            };
            const AfterVerdict unmet =
                policy == AfterPolicy::failed ? decides({0, 1, 0, 0}) : decides({0, 0, 0, 1});
            EXPECT_EQ(says("fails if"), unmet == AfterVerdict::fail) << rule;
            EXPECT_EQ(says("is skipped if"), unmet == AfterVerdict::skip) << rule;
            EXPECT_EQ(says("have ended"), unmet == AfterVerdict::run) << rule;
            EXPECT_EQ(says("one has failed"), decides({1, 0, 0, 1}) == AfterVerdict::run) << rule;
            EXPECT_EQ(says("one has succeeded"), decides({1, 1, 0, 0}) == AfterVerdict::run)
                << rule;
            EXPECT_EQ(says("all have succeeded"), policy == AfterPolicy::succeeded &&
                                                      decides({1, 0, 0, 1}) != AfterVerdict::wait)
                << rule;
        }
}

}  // namespace hipq::core
