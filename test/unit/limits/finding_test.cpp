// The texts about the conditions between a job and its start.
#include "core/limits/sentences.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace hipq::core {
namespace {

TEST(Finding, KindsHaveTheNamesThatUsersSee)
{
    EXPECT_EQ(name(ConditionKind::exists), "exists");
    EXPECT_EQ(name(ConditionKind::waits_for), "waits for");
    EXPECT_EQ(name(ConditionKind::scheduled_time), "scheduled time");
    EXPECT_EQ(name(ConditionKind::queue_owner), "queue owner");
    EXPECT_EQ(name(ConditionKind::throttle), "throttle");
    EXPECT_EQ(name(ConditionKind::key_throttle), "throttle of key");
    EXPECT_EQ(name(ConditionKind::lane), "lane");
}

TEST(Finding, EachConditionCanPassAndMostCanBeClosed)
{
    std::set<ConditionKind> passing;
    std::set<ConditionKind> closing;
    for (const FindingDefinition &finding : all_findings)
        (finding.outcome == Outcome::passed ? passing : closing).insert(finding.kind);
    for (std::size_t i = 0; i <= static_cast<std::size_t>(ConditionKind::lane); ++i) {
        const auto kind = static_cast<ConditionKind>(i);
        const bool is_shown_closed_only =
            kind == ConditionKind::set_aside || kind == ConditionKind::waits_for;
        EXPECT_EQ(passing.contains(kind), !is_shown_closed_only) << name(kind);
        const bool never_closes = kind == ConditionKind::exists || kind == ConditionKind::throttle;
        EXPECT_EQ(closing.contains(kind), !never_closes) << name(kind);
    }
}

TEST(Finding, EachHasASentence)
{
    for (std::size_t i = 0; i < all_findings.size(); ++i) {
        const std::string_view text = sentence(static_cast<Finding>(i));
        // The texts of pauses, of attempts that end, of jobs without a worker and of rules for jobs
        // that come after others are sentences.
        EXPECT_TRUE(text.ends_with(".") || text.ends_with("{pause}") || text.ends_with("{end}") ||
                    text.ends_with("{unable}") || text.ends_with("{rule}"))
            << all_findings[i].name;
    }
}

TEST(Finding, SentencesTakeFactsByName)
{
    const std::vector<NamedFact> facts{{"own", "3"}, {"idle", "1"}};
    EXPECT_EQ(with_facts(sentence(Finding::executor_is_idle), facts),
              "3 executor(s) work for the queue owner, 1 of them without a job.");
    EXPECT_EQ(with_facts("{own}{own} of {idle}", facts), "33 of 1");
    EXPECT_EQ(with_facts("", facts), "");
}

TEST(Finding, FactsMayHoldBraces)
{
    const std::vector<NamedFact> facts{{"type", "{own}"}, {"own", "3"}};
    EXPECT_EQ(with_facts("\"{type}\" {own}", facts), "\"{own}\" 3");
}

TEST(Finding, WhatIsNoFactStays)
{
    const std::vector<NamedFact> facts{{"own", "3"}};
    EXPECT_EQ(with_facts("{other} {own", facts), "{other} {own");
    EXPECT_EQ(with_facts("}{own}{", facts), "}3{");
}

}  // namespace
}  // namespace hipq::core
