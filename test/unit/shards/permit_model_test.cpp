// Permits, in all orders of events: the limit is never exceeded, the model never gets stuck, and
// each rule is needed.
#include "exploration.hpp"
#include "permit_model.hpp"

#include <gtest/gtest.h>

#include <iostream>

using namespace hipq::test;
using namespace hipq::core;

namespace {

// A light job and one that needs the whole limit; two jobs of which only one fits; one job that is
// heavier than the limit.
constexpr PermitSetting light_and_heavy{.jobs = {{{1, 0}, {3, 0}}}};
constexpr PermitSetting one_at_a_time{.jobs = {{{2, 0}, {2, 0}}}};
constexpr PermitSetting too_heavy{.jobs = {{{4, 0}, {2, 0}}}};
constexpr PermitSetting two_and_one{.jobs = {{{1, 1}, {3, 0}}}};
constexpr PermitSetting late_copies{.jobs = {{{1, 0}, {3, 0}}}, .late_requests = {2, 1}};
constexpr PermitSetting new_authority_comes{.jobs = {{{2, 0}, {2, 0}}}, .authorities = 2};
constexpr PermitSetting standby{.limit = 1, .jobs = {{{1, 0}, {1, 0}}}, .is_promoted = true};
constexpr PermitSetting raised{.limit = 1, .jobs = {{{2, 0}, {1, 0}}}, .later_limit = 2};
constexpr PermitSetting lowered{.limit = 2, .jobs = {{{1, 0}, {2, 0}}}, .later_limit = 1};

void expect_sound(const PermitSetting &setting)
{
    const Findings findings = explore(PermitModel(setting));
    EXPECT_EQ(findings.fault, "") << told(findings);
    EXPECT_GT(findings.ends, 0U);
    std::cout << findings.states << " states, " << findings.steps << " steps\n";
}

void expect_too_much(const PermitSetting &setting, const PermitRules &rules)
{
    const Findings findings = explore(PermitModel(setting, rules));
    EXPECT_EQ(findings.fault, "more runs than the limit allows") << told(findings);
}

}  // namespace

TEST(PermitModel, keeps_the_limit_and_ends_whatever_happens_to_messages)
{
    expect_sound(light_and_heavy);
    expect_sound(one_at_a_time);
    expect_sound(too_heavy);
}

TEST(PermitModel, is_fair_enough_for_a_heavy_job_beside_two_light_ones)
{
    expect_sound(two_and_one);
}

TEST(PermitModel, keeps_the_limit_when_old_requests_come_late)
{
    expect_sound(late_copies);
}

TEST(PermitModel, keeps_the_limit_under_a_new_authority_that_knows_nothing)
{
    expect_sound(new_authority_comes);
}

TEST(PermitModel, keeps_the_limit_when_a_standby_with_an_old_share_is_promoted)
{
    expect_sound(standby);
}

TEST(PermitModel, keeps_the_higher_limit_when_it_changes)
{
    expect_sound(raised);
    expect_sound(lowered);
}

// ---- broken rules

TEST(BrokenPermits, exceed_the_limit_if_a_late_request_counts)
{
    PermitRules rules;
    rules.take_request = [](PermitAuthority &authority, const PermitRequest &request) {
        for (PermitRecord &each : authority.records)
            if (each.node == request.node)
                each.serial = 0;
        return take_request(authority, request);
    };
    expect_too_much(late_copies, rules);
}

TEST(BrokenPermits, exceed_the_limit_if_a_late_answer_counts)
{
    PermitRules rules;
    rules.take_answer = [](PermitShare &share, const PermitAnswer &answer) {
        PermitAnswer last = answer;
        last.serial = share.serial;
        return take_answer(share, last);
    };
    expect_too_much(light_and_heavy, rules);
}

TEST(BrokenPermits, exceed_the_limit_if_a_node_keeps_more_than_it_says)
{
    PermitRules rules;
    rules.ask = [](PermitShare &share, int node, const PermitNeed &need) {
        const Weight before = share.share;
        const PermitRequest request = ask(share, node, need);
        share.share = before;
        return request;
    };
    expect_too_much(light_and_heavy, rules);
}

TEST(BrokenPermits, exceed_the_limit_if_a_new_authority_takes_unheard_nodes_for_idle)
{
    PermitRules rules;
    rules.new_authority = [](std::int64_t epoch, Weight limit, const std::vector<int> &nodes) {
        PermitAuthority authority = new_authority(epoch, limit, nodes);
        for (PermitRecord &each : authority.records)
            each.is_heard = true;
        return authority;
    };
    expect_too_much(new_authority_comes, rules);
}

TEST(BrokenPermits, exceed_the_limit_if_a_promoted_standby_uses_its_old_share)
{
    PermitRules rules;
    rules.forget_share = [](PermitShare &, Weight) {};
    expect_too_much(standby, rules);
}

TEST(BrokenPermits, exceed_the_limit_if_a_heavy_job_starts_without_all_of_it)
{
    PermitRules rules;
    rules.may_start = [](const PermitShare &share, Weight running, Weight weight) {
        return may_start(share, running, weight) || (running == 0 && weight > share.limit);
    };
    expect_too_much(too_heavy, rules);
}

TEST(BrokenPermits, exceed_the_limit_if_a_share_as_large_as_the_limit_counts_as_all_of_it)
{
    PermitRules rules;
    rules.may_start = [](const PermitShare &share, Weight running, Weight weight) {
        const bool seems_to_have_all = share.limit > 0 && share.share >= share.limit;
        return may_start(share, running, weight) || (seems_to_have_all && running == 0);
    };
    expect_too_much(lowered, rules);
}
