// How a node handles jobs of a slot that moves, case by case; move_model_test.cpp has all orders of
// events.
#include "core/shards/moves.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

using namespace hipq::core;

namespace {

constexpr int a_shard = 2;
constexpr int the_router = 0;
constexpr MovedJob plain_job{};
constexpr MovedJob keyed_job{.has_key = true};
constexpr MovedJob key_runs_there{.has_key = true, .key_runs_there = true};
constexpr MovedJob accepted_and_key_used{
    .has_key = true, .was_accepted = true, .key_is_used_here = true};
constexpr MovedJob new_and_key_used{.has_key = true, .key_is_used_here = true};
constexpr MovedJob behind{.is_behind_others = true};

Arrival at_shard(SlotPhase phase, const MovedJob &job, MoveOrder order = MoveOrder::by_key)
{
    return arrival(a_shard, phase, order, job);
}

}  // namespace

TEST(Moves, say_what_a_slot_is_to_a_node)
{
    const Move move{1, 2, false};
    const Move half_done{1, 2, true};
    EXPECT_EQ(phase_of(1, 1, nullptr), SlotPhase::own);
    EXPECT_EQ(phase_of(2, 1, nullptr), SlotPhase::elsewhere);
    EXPECT_EQ(phase_of(1, 2, &move), SlotPhase::leaving);
    EXPECT_EQ(phase_of(2, 2, &move), SlotPhase::incoming);
    EXPECT_EQ(phase_of(3, 2, &move), SlotPhase::elsewhere);
    EXPECT_EQ(phase_of(1, 2, &half_done), SlotPhase::leaving);
    EXPECT_EQ(phase_of(2, 2, &half_done), SlotPhase::settling);
    EXPECT_EQ(phase_after_returned(true), SlotPhase::settling);
    EXPECT_EQ(phase_after_returned(false), SlotPhase::own);
}

TEST(Moves, accept_what_is_the_nodes_own)
{
    EXPECT_EQ(at_shard(SlotPhase::own, plain_job), Arrival::accept);
    EXPECT_EQ(at_shard(SlotPhase::own, keyed_job), Arrival::accept);
    EXPECT_EQ(at_shard(SlotPhase::own, new_and_key_used), Arrival::accept)
        << "on_duplicate says what becomes of it";
}

TEST(Moves, hold_keyed_jobs_until_all_has_come_back)
{
    EXPECT_EQ(at_shard(SlotPhase::incoming, keyed_job), Arrival::hold);
    EXPECT_EQ(at_shard(SlotPhase::incoming, plain_job), Arrival::accept);
    EXPECT_EQ(at_shard(SlotPhase::incoming, plain_job, MoveOrder::strict), Arrival::hold);
    EXPECT_EQ(at_shard(SlotPhase::settling, plain_job, MoveOrder::strict), Arrival::accept);
}

TEST(Moves, hold_jobs_whose_key_still_runs_at_the_old_node)
{
    EXPECT_EQ(at_shard(SlotPhase::settling, key_runs_there), Arrival::hold);
    EXPECT_EQ(at_shard(SlotPhase::settling, keyed_job), Arrival::accept);
}

TEST(Moves, never_take_an_accepted_job_for_a_duplicate)
{
    for (const SlotPhase phase : {SlotPhase::own, SlotPhase::incoming, SlotPhase::settling})
        EXPECT_EQ(at_shard(phase, accepted_and_key_used), Arrival::hold);
}

TEST(Moves, let_jobs_queue_behind_those_that_are_held)
{
    EXPECT_EQ(at_shard(SlotPhase::own, behind), Arrival::hold);
    EXPECT_EQ(at_shard(SlotPhase::leaving, behind), Arrival::send_back);
    EXPECT_EQ(at_shard(SlotPhase::leaving, behind, MoveOrder::strict), Arrival::send_back);
}

TEST(Moves, send_on_what_is_not_the_nodes)
{
    for (const SlotPhase phase : {SlotPhase::leaving, SlotPhase::elsewhere})
        for (const MovedJob &job : {plain_job, keyed_job, accepted_and_key_used}) {
            EXPECT_EQ(at_shard(phase, job), Arrival::send_back);
            EXPECT_EQ(arrival(the_router, phase, MoveOrder::by_key, job), Arrival::forward);
            EXPECT_TRUE(must_go_back(phase));
            EXPECT_FALSE(may_start_in(phase, MoveOrder::by_key, job));
        }
}

TEST(Moves, hold_everything_while_a_promoted_standby_knows_nothing)
{
    for (const MovedJob &job : {plain_job, keyed_job, accepted_and_key_used}) {
        EXPECT_EQ(at_shard(SlotPhase::unknown, job), Arrival::hold);
        EXPECT_FALSE(may_start_in(SlotPhase::unknown, MoveOrder::by_key, job));
    }
    EXPECT_FALSE(must_go_back(SlotPhase::unknown));
}

TEST(Moves, start_what_could_be_accepted_now)
{
    EXPECT_TRUE(may_start_in(SlotPhase::own, MoveOrder::strict, keyed_job));
    EXPECT_TRUE(may_start_in(SlotPhase::incoming, MoveOrder::by_key, plain_job));
    EXPECT_FALSE(may_start_in(SlotPhase::incoming, MoveOrder::strict, plain_job));
    EXPECT_FALSE(may_start_in(SlotPhase::incoming, MoveOrder::by_key, keyed_job));
    EXPECT_FALSE(may_start_in(SlotPhase::settling, MoveOrder::by_key, key_runs_there));
    EXPECT_TRUE(may_start_in(SlotPhase::settling, MoveOrder::by_key, keyed_job));
}

TEST(Moves, let_in_first_what_was_accepted_before)
{
    std::vector<HeldJob> held{{false, 1}, {true, 6}, {false, 3}, {true, 5}, {false, 2}};
    std::sort(held.begin(), held.end(), comes_before);
    std::vector<std::int64_t> places;
    for (const HeldJob &each : held)
        places.push_back(each.place);
    EXPECT_EQ(places, (std::vector<std::int64_t>{5, 6, 1, 2, 3}));
}

TEST(Moves, say_returned_when_nothing_is_left)
{
    EXPECT_TRUE(may_say_returned(MoveOrder::by_key, {false, true, false}));
    EXPECT_FALSE(may_say_returned(MoveOrder::by_key, {true, false, true}));
    EXPECT_FALSE(may_say_returned(MoveOrder::strict, {false, false, false}));
    EXPECT_FALSE(may_say_returned(MoveOrder::strict, {true, false, true}));
    EXPECT_FALSE(may_say_returned(MoveOrder::strict, {false, true, true}));
    EXPECT_TRUE(may_say_returned(MoveOrder::strict, {false, false, true}));
}
