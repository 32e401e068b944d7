// Permits: fair parts in whole jobs, and both sides case by case; permit_model_test.cpp has all
// orders of events.
#include "core/shards/ids.hpp"
#include "core/shards/permit_targets.hpp"
#include "core/shards/permits.hpp"

#include "weights.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

using namespace hipq::core;
using hipq::test::one;

namespace {

std::vector<Weight> parts(const std::vector<Weight> &thousandths)
{
    std::vector<Weight> result;
    for (const Weight each : thousandths)
        result.push_back(each / one);
    return result;
}

PermitClaim wants(Weight jobs, Weight weight = 1)
{
    return {jobs * weight * one, weight * one, 0};
}

// A node with its need, and an authority.
struct Node {
    int number;
    PermitShare share;
    PermitRequest asks(Weight running, Weight want, Weight unit)
    {
        return ask(share, number, {running * one, want * one, unit * one});
    }
};
struct Network {
    PermitAuthority authority;
    std::vector<Node> nodes;

    explicit Network(Weight limit, int count) : authority(new_authority(1, limit * one, {}))
    {
        for (int n = 0; n < count; ++n) {
            add_node(authority, n);
            nodes.push_back({n, {.epoch = 1}});
        }
    }
    Node &at(int n) { return nodes.at(static_cast<std::size_t>(n)); }
    void deliver(const std::vector<PermitAnswer> &answers)
    {
        for (const PermitAnswer &each : answers)
            take_answer(at(each.node).share, each);
    }
    void ask(int n, Weight running, Weight want, Weight unit = 1)
    {
        deliver(take_request(authority, at(n).asks(running, want, unit)));
    }
    Weight share(int n) { return at(n).share.share / one; }
    Weight target(int n) { return at(n).share.target / one; }
};

}  // namespace

// ---- parts

TEST(PermitTargets, are_all_that_is_wanted_where_it_fits)
{
    EXPECT_EQ(parts(permit_targets(10 * one, {wants(3), wants(4), wants(0)}, 0)),
              (std::vector<Weight>{3, 4, 0}));
}

TEST(PermitTargets, are_fair_where_it_does_not)
{
    EXPECT_EQ(parts(permit_targets(10 * one, {wants(2), wants(100), wants(100)}, 0)),
              (std::vector<Weight>{2, 4, 4}));
}

TEST(PermitTargets, are_whole_jobs)
{
    const std::vector<PermitClaim> four{wants(9), wants(9), wants(9), wants(9)};
    EXPECT_EQ(parts(permit_targets(3 * one, four, 0)), (std::vector<Weight>{1, 1, 1, 0}));
    EXPECT_EQ(parts(permit_targets(3 * one, four, 2)), (std::vector<Weight>{1, 0, 1, 1}));
    EXPECT_EQ(parts(permit_targets(6 * one, four, 3)), (std::vector<Weight>{2, 1, 1, 2}));
}

TEST(PermitTargets, save_up_for_the_heavy_job_whose_turn_it_is)
{
    const std::vector<PermitClaim> claims{wants(9), wants(9), wants(1, 3)};
    EXPECT_EQ(parts(permit_targets(4 * one, claims, 0)), (std::vector<Weight>{2, 2, 0}));
    EXPECT_EQ(parts(permit_targets(4 * one, claims, 2)), (std::vector<Weight>{1, 0, 3}));
}

TEST(PermitTargets, take_a_job_heavier_than_the_limit_for_one_as_heavy)
{
    EXPECT_EQ(parts(permit_targets(3 * one, {wants(9), wants(1, 5)}, 1)),
              (std::vector<Weight>{0, 3}));
}

TEST(PermitTargets, leave_what_nobody_can_use_where_it_is)
{
    std::vector<PermitClaim> claims{wants(1), wants(0)};
    claims[1].has = 4 * one;
    EXPECT_EQ(parts(permit_targets(10 * one, claims, 0)), (std::vector<Weight>{1, 4}));
}

TEST(PermitTargets, are_nothing_without_a_limit_or_claims)
{
    EXPECT_TRUE(permit_targets(3 * one, {}, 0).empty());
    EXPECT_EQ(permit_targets(0, {wants(1)}, 0), std::vector<Weight>{0});
}

TEST(PermitTargets, are_never_above_the_limit_and_let_each_run_in_its_turn)
{
    std::mt19937 random{20261126};
    for (int round = 0; round < 20'000; ++round) {
        const Weight limit = static_cast<Weight>(1 + random() % 20'000);
        std::vector<PermitClaim> claims(1 + random() % 8);
        for (PermitClaim &each : claims) {
            each.unit = static_cast<Weight>(random() % 5'000);
            each.want = each.unit * static_cast<Weight>(random() % 6);
            each.has = static_cast<Weight>(random() % 3'000);
        }
        const std::size_t turn = random() % claims.size();
        const std::vector<Weight> result = permit_targets(limit, claims, turn);
        ASSERT_LE(std::accumulate(result.begin(), result.end(), Weight{0}), limit);
        ASSERT_GE(result[turn], std::min({claims[turn].unit, claims[turn].want, limit}));
        for (std::size_t i = 0; i < claims.size(); ++i)
            ASSERT_LE(result[i], std::max(claims[i].want, claims[i].has));
    }
}

// ---- both sides

TEST(Permits, let_a_node_start_within_its_share)
{
    const PermitShare share{.share = 2 * one, .limit = 5 * one};
    EXPECT_TRUE(may_start(share, one, one));
    EXPECT_FALSE(may_start(share, 2 * one, one));
    EXPECT_TRUE(may_start(share, 2 * one, 0)) << "what weighs nothing";
    EXPECT_FALSE(may_start(share, 0, 9 * one));
    const PermitShare all{.share = 5 * one, .has_all = true, .limit = 5 * one};
    EXPECT_TRUE(may_start(all, 0, 9 * one)) << "alone";
    EXPECT_FALSE(may_start(all, one, 9 * one));
}

TEST(Permits, give_a_lone_node_all_it_wants)
{
    Network network(5, 2);
    network.ask(0, 0, 3);
    EXPECT_EQ(network.share(0), 3);
    network.ask(0, 3, 9);
    EXPECT_EQ(network.share(0), 5);
    EXPECT_TRUE(network.at(0).share.has_all);
}

TEST(Permits, move_a_share_when_its_jobs_have_ended)
{
    Network network(4, 2);
    network.ask(0, 0, 9);
    EXPECT_EQ(network.share(0), 4);
    network.ask(1, 0, 9);
    EXPECT_EQ(network.share(1), 0) << "the other has all";
    EXPECT_EQ(network.target(0), 2) << "but is told to give up";
    EXPECT_TRUE(should_ask(network.at(0).share, {3 * one, 9 * one, one}));
    network.ask(0, 3, 9);
    EXPECT_EQ(network.share(0), 3) << "what runs goes on";
    EXPECT_EQ(network.share(1), 1) << "by an answer to its last request";
    network.ask(0, 2, 9);
    EXPECT_EQ(network.share(0), 2);
    EXPECT_EQ(network.share(1), 2);
}

TEST(Permits, give_back_what_is_not_wanted_any_more)
{
    Network network(4, 2);
    network.ask(0, 0, 4);
    EXPECT_EQ(network.share(0), 4);
    network.ask(1, 0, 4);
    network.ask(0, 0, 1);
    EXPECT_EQ(network.share(0), 1);
    EXPECT_EQ(network.share(1), 3);
}

TEST(Permits, ignore_what_is_stale)
{
    Network network(4, 2);
    const PermitRequest old = network.at(0).asks(0, 1, 1);
    const PermitRequest last = network.at(0).asks(0, 4, 1);
    const std::vector<PermitAnswer> answers = take_request(network.authority, last);
    EXPECT_EQ(answers.size(), 1U);
    EXPECT_TRUE(take_request(network.authority, old).empty());
    EXPECT_TRUE(take_request(network.authority, last).empty()) << "the same again";
    PermitRequest of_before = network.at(0).asks(0, 4, 1);
    EXPECT_FALSE(take_answer(network.at(0).share, answers[0])) << "not to the last request";
    EXPECT_EQ(network.share(0), 0);
    of_before.epoch = 0;
    EXPECT_TRUE(take_request(network.authority, of_before).empty());
    EXPECT_TRUE(take_request(network.authority, {7, 1, 1, 0, one, one}).empty());
}

TEST(Permits, ask_only_when_it_changes_something)
{
    PermitShare share{.share = 2 * one,
                      .target = 2 * one,
                      .limit = 5 * one,
                      .asked_want = 2 * one,
                      .asked_unit = one};
    EXPECT_FALSE(should_ask(share, {2 * one, 2 * one, one}));
    EXPECT_TRUE(should_ask(share, {2 * one, 3 * one, one})) << "wants more";
    EXPECT_TRUE(should_ask(share, {0, one, one})) << "needs less";
    share.asked_want = 5 * one;
    EXPECT_FALSE(should_ask(share, {2 * one, 99 * one, one})) << "more than the limit";
    EXPECT_TRUE(should_refresh(share, {2 * one, 99 * one, one})) << "but now and then";
    share.target = one;
    EXPECT_FALSE(should_ask(share, {2 * one, 99 * one, one})) << "has nothing to give up yet";
    EXPECT_TRUE(should_ask(share, {one, 99 * one, one}));
    share.is_waiting = true;
    EXPECT_FALSE(should_ask(share, {one, 99 * one, one}));
    EXPECT_TRUE(should_refresh(share, {one, 99 * one, one}));
}

TEST(Permits, grant_nothing_new_before_all_nodes_are_heard)
{
    Network network(4, 2);
    network.ask(0, 0, 2);
    network.authority = new_authority(2, 4 * one, {0, 1});
    EXPECT_TRUE(meet_authority(network.at(0).share, 2));
    EXPECT_FALSE(meet_authority(network.at(0).share, 2));
    EXPECT_TRUE(should_ask(network.at(0).share, {0, 0, 0})) << "whatever it wants";
    network.ask(0, 2, 4);
    EXPECT_EQ(network.share(0), 2) << "it keeps what it has";
    meet_authority(network.at(1).share, 2);
    network.ask(1, 0, 0);
    EXPECT_EQ(network.share(0), 4);
}

TEST(Permits, forget_the_share_of_a_promoted_standby)
{
    PermitShare share{.epoch = 3, .serial = 9, .share = 4 * one, .has_all = true};
    forget_share(share, one);
    EXPECT_EQ(share.share, one) << "an external worker's";
    EXPECT_FALSE(share.has_all);
    EXPECT_EQ(share.serial, 9 + promotion_gap);
    EXPECT_EQ(share.epoch, 3);
    EXPECT_TRUE(should_ask(share, {one, one, 0}));
}

TEST(Permits, tell_all_of_another_limit)
{
    Network network(4, 2);
    network.ask(0, 0, 2);
    network.ask(1, 0, 1);
    network.deliver(set_limit(network.authority, 2 * one));
    EXPECT_EQ(network.at(1).share.limit, 2 * one);
    EXPECT_TRUE(should_ask(network.at(1).share, {0, one, one}));
    network.deliver(set_limit(network.authority, 8 * one));
    network.ask(0, 2, 8);
    EXPECT_EQ(network.share(0), 7);
}

TEST(Permits, are_not_kept_for_a_node_that_is_silent)
{
    Network network(4, 2);
    network.ask(0, 0, 1);
    network.ask(1, 0, 9);
    EXPECT_EQ(network.share(1), 3);
    take_request(network.authority, network.at(0).asks(1, 9, 1));  // and then it is down
    EXPECT_TRUE(pass_over(network.authority, 7).empty());
    network.ask(1, 2, 9);
    EXPECT_EQ(network.target(1), 2) << "half of it is the silent node's";
    network.deliver(pass_over(network.authority, 0));
    EXPECT_EQ(network.target(1), 3) << "all but the share that it may have";
    network.ask(1, 2, 9);
    EXPECT_EQ(network.share(1), 3);
}

TEST(Permits, go_to_others_when_a_node_is_dropped)
{
    Network network(4, 2);
    network.ask(0, 0, 4);
    network.ask(1, 0, 4);
    EXPECT_EQ(network.share(1), 0);
    network.deliver(drop_node(network.authority, 0));
    EXPECT_EQ(network.share(1), 4);
    EXPECT_TRUE(drop_node(network.authority, 0).empty());
}

TEST(Permits, pass_the_turn_among_those_who_want_to_start)
{
    Network network(1, 3);
    network.ask(0, 0, 1);
    network.ask(2, 0, 1);
    EXPECT_EQ(network.authority.turn, 0U);
    network.deliver(pass_turn(network.authority));
    EXPECT_EQ(network.authority.turn, 2U);
    EXPECT_EQ(network.target(0), 0);
    network.ask(0, 0, 1);
    EXPECT_EQ(network.share(2), 1);
}
