// Failure classes and the policy's decision, reason by reason.
#include "core/retry/failure.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace hipq::core {
namespace {

struct Expected {
    Reason reason;
    std::string_view name;
    bool retriable;  // by default
    bool uncharged;
    bool asks_retry_handler;
    bool unwanted = false;
};

constexpr Expected expectations[]{
    {Reason::worker_unavailable, "worker_unavailable", true, false, true},
    {Reason::queue_timeout, "queue_timeout", true, false, true},
    {Reason::worker_heartbeat_stale, "worker_heartbeat_stale", true, false, true},
    {Reason::worker_lost, "worker_lost", true, false, true},
    {Reason::server_restart, "server_restart", true, false, true},
    {Reason::crashed, "crashed", true, false, true},
    {Reason::timeout, "timeout", true, false, true},
    {Reason::transient_error, "transient_error", true, false, true},
    {Reason::manual_retry, "manual_retry", true, false, true},
    {Reason::validation_error, "validation_error", false, false, true},
    {Reason::permission_denied, "permission_denied", false, false, true},
    {Reason::handler_not_found, "handler_not_found", false, false, true},
    {Reason::invalid_parameters, "invalid_parameters", false, false, true},
    {Reason::explicit_failure, "explicit_failure", false, false, true},
    {Reason::retry_handler_failed, "retry_handler_failed", false, false, true},
    {Reason::cancelled, "cancelled", false, false, false, true},
    {Reason::expired, "expired", false, false, false, true},
    {Reason::predecessor_failed, "predecessor_failed", false, false, false, true},
    {Reason::skipped, "skipped", false, false, false, true},
    {Reason::released, "released", true, true, false},
    {Reason::snoozed, "snoozed", true, true, false},
    {Reason::conflict, "conflict", true, true, false},
    {Reason::read_only, "read_only", true, true, false},
    {Reason::stale_session, "stale_session", true, true, false},
};
static_assert(std::size(expectations) == reason_count);

constexpr RetryPolicy policy{};

Decision decide_plainly(Reason reason, int retry_count, int max_retries)
{
    return decide(reason, "", {}, retry_count, max_retries, policy, 0.5, true);
}

TEST(Failure, NamesOfEveryReasonReadBack)
{
    std::set<std::string_view> names;
    for (const Expected &expected : expectations) {
        EXPECT_EQ(name(expected.reason), expected.name);
        EXPECT_EQ(parse_reason(expected.name), expected.reason) << expected.name;
        names.insert(expected.name);
    }
    EXPECT_EQ(names.size(), reason_count);
}

TEST(Failure, OtherTextsAreNoReason)
{
    for (std::string_view text : {"", "Timeout", "timeout ", "40001", "40", "none"})
        EXPECT_EQ(parse_reason(text), std::nullopt) << text;
}

TEST(Failure, NatureOfEveryReason)
{
    for (const Expected &expected : expectations) {
        EXPECT_EQ(is_retriable(expected.reason, "", {}), expected.retriable) << expected.name;
        EXPECT_EQ(is_uncharged(expected.reason), expected.uncharged) << expected.name;
        EXPECT_EQ(asks_retry_handler(expected.reason), expected.asks_retry_handler)
            << expected.name;
        EXPECT_EQ(is_unwanted(expected.reason), expected.unwanted) << expected.name;
    }
}

TEST(Failure, ValidRules)
{
    for (const Expected &expected : expectations)
        EXPECT_TRUE(is_valid_rule(expected.name)) << expected.name;
    for (std::string_view rule : {"40001", "P0001", "HQ001", "ZZZZZ", "40", "P0", "0A"})
        EXPECT_TRUE(is_valid_rule(rule)) << rule;
}

TEST(Failure, InvalidRules)
{
    for (std::string_view rule : {"", "4", "400", "4000", "400011", "p0001", "40 01", "4o", " 40",
                                  "deadlock", "TIMEOUT", "40.01"})
        EXPECT_FALSE(is_valid_rule(rule)) << rule;
}

TEST(Failure, ClassificationOfSqlstates)
{
    for (std::string_view sqlstate : {"22000", "22P02", "22012", "23505", "23503", "23514"})
        EXPECT_EQ(classify(sqlstate), Reason::validation_error) << sqlstate;
    EXPECT_EQ(classify("42501"), Reason::permission_denied);
    EXPECT_EQ(classify("22023"), Reason::invalid_parameters);
    for (std::string_view sqlstate : {"42883", "42P01", "42703", "42601", "42000", "3F000"})
        EXPECT_EQ(classify(sqlstate), Reason::handler_not_found) << sqlstate;
    for (std::string_view sqlstate :
         {"P0001", "40001", "40P01", "53300", "57014", "XX000", "3D000", "02200", "04200", "", "2"})
        EXPECT_EQ(classify(sqlstate), Reason::transient_error) << sqlstate;
}

TEST(Failure, SomeErrorsAreTheSessionsFault)
{
    constexpr SessionFacts fresh{false, false};
    constexpr SessionFacts warm{false, true};
    constexpr SessionFacts read_only{true, false};
    EXPECT_EQ(session_fault("25006", "x", read_only), Reason::read_only);
    EXPECT_EQ(session_fault("25006", "x", warm), std::nullopt);
    EXPECT_EQ(session_fault("25001", "x", read_only), std::nullopt);
    constexpr std::string_view lookup = "cache lookup failed for type 4711";
    EXPECT_EQ(session_fault("XX000", lookup, warm), Reason::stale_session);
    EXPECT_EQ(session_fault("XX000", lookup, fresh), std::nullopt);
    EXPECT_EQ(session_fault("P0001", lookup, warm), std::nullopt);
    EXPECT_EQ(session_fault("XX000", "a cache lookup failed", warm), std::nullopt);
}

TEST(Failure, ConflictsBeginAnewAfterAShortWhile)
{
    EXPECT_TRUE(is_conflict("40001"));
    EXPECT_TRUE(is_conflict("40P01"));
    for (std::string_view sqlstate : {"40000", "40002", "P0001", "4000", ""})
        EXPECT_FALSE(is_conflict(sqlstate)) << sqlstate;
    EXPECT_EQ(conflict_delay(0, 0.0), 10'000);
    EXPECT_EQ(conflict_delay(0, 0.5), 15'000);
    EXPECT_EQ(conflict_delay(3, 0.0), 80'000);
    EXPECT_EQ(conflict_delay(1000, 0.5), 960'000);
    EXPECT_EQ(conflict_delay(-1, 0.0), 10'000);
}

TEST(Failure, SomeErrorsPassWhateverWasCalled)
{
    for (std::string_view sqlstate :
         {"08000", "08006", "25006", "40001", "40P01", "57P01", "57P03"})
        EXPECT_TRUE(is_passing(sqlstate)) << sqlstate;
    for (std::string_view sqlstate : {"57014", "25001", "P0001", "53300", "0A000", "40000", ""})
        EXPECT_FALSE(is_passing(sqlstate)) << sqlstate;
    EXPECT_EQ(handler_delay(0), 1'000'000);
    EXPECT_EQ(handler_delay(3), 8'000'000);
    EXPECT_EQ(handler_delay(most_handler_retries), 300'000'000);
    EXPECT_EQ(handler_delay(1000), 300'000'000);
    EXPECT_EQ(handler_delay(-1), 1'000'000);
}

TEST(Failure, RulesMatchReasonsSqlstatesAndClasses)
{
    const std::vector<std::string> rules{"validation_error", "P0001", "40"};
    const RetryRules retry{rules, {}};
    const RetryRules refuse{{}, rules};
    EXPECT_TRUE(is_retriable(Reason::validation_error, "22000", retry));
    EXPECT_TRUE(is_retriable(Reason::permission_denied, "P0001", retry));
    EXPECT_TRUE(is_retriable(Reason::permission_denied, "40P01", retry));
    EXPECT_FALSE(is_retriable(Reason::permission_denied, "42501", retry));
    EXPECT_FALSE(is_retriable(Reason::transient_error, "P0001", refuse));
    EXPECT_FALSE(is_retriable(Reason::transient_error, "40001", refuse));
    EXPECT_TRUE(is_retriable(Reason::transient_error, "P0002", refuse));
    EXPECT_TRUE(is_retriable(Reason::timeout, "", refuse));
}

TEST(Failure, AnAbsentSqlstateMatchesNoRule)
{
    const std::vector<std::string> rules{"", "00", "00000"};
    EXPECT_TRUE(is_retriable(Reason::timeout, "", {{}, rules}));
    EXPECT_FALSE(is_retriable(Reason::validation_error, "", {rules, {}}));
}

TEST(Failure, DoNotRetryBeatsRetryBeatsNature)
{
    for (const Expected &expected : expectations) {
        const std::vector<std::string> rules{std::string{expected.name}};
        EXPECT_EQ(is_retriable(expected.reason, "", {rules, {}}), !expected.unwanted)
            << expected.name;
        EXPECT_FALSE(is_retriable(expected.reason, "", {{}, rules})) << expected.name;
        EXPECT_FALSE(is_retriable(expected.reason, "", {rules, rules})) << expected.name;
    }
}

TEST(Failure, UnwantedJobsNeverRetryWhateverTheSqlstate)
{
    const std::vector<std::string> rules{"40001", "40"};
    for (const Expected &expected : expectations)
        EXPECT_EQ(is_retriable(expected.reason, "40001", {rules, {}}), !expected.unwanted)
            << expected.name;
}

TEST(Failure, DecisionForEveryReasonWithRetriesLeft)
{
    for (const Expected &expected : expectations) {
        const Decision decision = decide_plainly(expected.reason, 1, 3);
        EXPECT_EQ(decision.retry, expected.retriable) << expected.name;
        EXPECT_EQ(decision.charged, expected.retriable && !expected.uncharged) << expected.name;
        EXPECT_EQ(decision.delay, decision.charged ? 2'000'000 : 0) << expected.name;
    }
}

TEST(Failure, DecisionForEveryReasonWithoutRetriesLeft)
{
    for (const Expected &expected : expectations) {
        for (int retry_count : {3, 4}) {
            const Decision decision = decide_plainly(expected.reason, retry_count, 3);
            EXPECT_EQ(decision.retry, expected.uncharged) << expected.name;
            EXPECT_FALSE(decision.charged) << expected.name;
            EXPECT_EQ(decision.delay, 0) << expected.name;
        }
    }
}

TEST(Failure, NoRetriesByDefault)
{
    EXPECT_FALSE(decide_plainly(Reason::transient_error, 0, 0).retry);
    EXPECT_TRUE(decide_plainly(Reason::released, 0, 0).retry);
}

TEST(Failure, LastRetryIsGiven)
{
    EXPECT_TRUE(decide_plainly(Reason::timeout, 2, 3).retry);
    EXPECT_FALSE(decide_plainly(Reason::timeout, 3, 3).retry);
}

TEST(Failure, RetryWaitsAsLongAsTheAttemptAsks)
{
    const auto decide_asked = [](Reason reason, int max_retries) {
        return decide(reason, "", {}, 2, max_retries, policy, 0.5, true, 420'000'000);
    };
    EXPECT_EQ(decide_asked(Reason::transient_error, 3).delay, 420'000'000);
    EXPECT_TRUE(decide_asked(Reason::transient_error, 3).charged);
    EXPECT_FALSE(decide_asked(Reason::transient_error, 2).retry);
    EXPECT_FALSE(decide_asked(Reason::explicit_failure, 3).retry);
}

TEST(Failure, RetriesSwitchedOffEndAJobButPutBackWhatIsFree)
{
    EXPECT_FALSE(decide(Reason::timeout, "", {}, 5, 9, policy, 0.5, false).retry);
    EXPECT_TRUE(decide(Reason::snoozed, "", {}, 5, 9, policy, 0.5, false).retry);
    EXPECT_EQ(judge(Reason::timeout, "", {}, 5, 9, false), Verdict::switched_off);
    EXPECT_EQ(judge(Reason::timeout, "", {}, 9, 9, false), Verdict::no_retries_left);
    EXPECT_EQ(judge(Reason::validation_error, "22012", {}, 5, 9, false), Verdict::not_retriable);
}

TEST(Failure, RulesDecideButUnchargedReasonsStayFree)
{
    const std::vector<std::string> rules{"22", "released"};
    EXPECT_TRUE(
        decide(Reason::validation_error, "22012", {rules, {}}, 0, 1, policy, 0.5, true).retry);
    const Decision refused =
        decide(Reason::validation_error, "22012", {rules, rules}, 0, 1, policy, 0.5, true);
    EXPECT_FALSE(refused.retry);
    const Decision released = decide(Reason::released, "", {{}, rules}, 7, 1, policy, 0.5, true);
    EXPECT_TRUE(released.retry);
    EXPECT_FALSE(released.charged);
}

TEST(Failure, VerdictSaysWhy)
{
    const std::vector<std::string> rules{"40", "timeout"};
    EXPECT_EQ(judge(Reason::timeout, "", {}, 0, 1, true), Verdict::retry);
    EXPECT_EQ(judge(Reason::timeout, "", {}, 1, 1, true), Verdict::no_retries_left);
    EXPECT_EQ(judge(Reason::timeout, "", {{}, rules}, 1, 1, true), Verdict::ruled_out)
        << "another retry would not help";
    EXPECT_EQ(judge(Reason::transient_error, "40001", {{}, rules}, 0, 1, true), Verdict::ruled_out);
    EXPECT_EQ(judge(Reason::validation_error, "22012", {}, 0, 1, true), Verdict::not_retriable);
    EXPECT_EQ(judge(Reason::validation_error, "40001", {rules, {}}, 0, 1, true), Verdict::retry);
    for (const Expected &expected : expectations)
        EXPECT_EQ(judge(expected.reason, "40001", {rules, {}}, 0, 1, true) ==
                      Verdict::never_retried,
                  expected.unwanted)
            << expected.name;
    EXPECT_EQ(judge(Reason::expired, "", {{}, rules}, 0, 1, true), Verdict::never_retried);
    EXPECT_EQ(judge(Reason::snoozed, "", {}, 9, 1, true), Verdict::put_back);
}

TEST(Failure, DelayComesFromTheBackoff)
{
    for (double random : {0.0, 0.25, 0.99}) {
        const Decision decision = decide(Reason::timeout, "", {}, 4, 9, policy, random, true);
        EXPECT_EQ(decision.delay, retry_delay(policy, 4, random));
    }
}

}  // namespace
}  // namespace hipq::core
