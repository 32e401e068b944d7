// Moves of a slot, in all orders of events: the guarantees of the rules of core/shards, and that
// each rule is needed.
#include "exploration.hpp"
#include "move_model.hpp"

#include <gtest/gtest.h>

#include <iostream>

using namespace hipq::test;
using namespace hipq::core;

namespace {

constexpr Bits on_the_router = 0b001;
constexpr Bits on_the_old_node = 0b010;
constexpr Bits on_the_new_node = 0b100;

constexpr MoveSetting there_and_back{};
constexpr MoveSetting without_keys{.have_key = false};
constexpr MoveSetting with_lost_tail{.tail_is_lost = true};
constexpr MoveSetting with_lost_tail_and_no_retry{.may_retry = false, .tail_is_lost = true};
constexpr MoveSetting strict_with_lost_tail{
    .have_key = false, .order = MoveOrder::strict, .may_retry = false, .tail_is_lost = true};
constexpr MoveSetting strict_from_the_router{
    .have_key = false, .order = MoveOrder::strict, .most_moves = 3, .producers = on_the_router};
constexpr MoveSetting strict_from_the_old_node{
    .have_key = false, .order = MoveOrder::strict, .most_moves = 1, .producers = on_the_old_node};
constexpr MoveSetting strict_from_the_new_node{.have_key = false,
                                               .order = MoveOrder::strict,
                                               .most_moves = 3,
                                               .producers = on_the_new_node,
                                               .only_where_slot_is = true};
constexpr MoveSetting strict_with_keys{.order = MoveOrder::strict, .producers = on_the_router};

// No producer is on the old node: there, a job could be accepted after another job with its key has
// left. This other job is then the duplicate, an accepted job that is rejected.
constexpr MoveSetting away_from_producers{.most_moves = 1,
                                          .producers = on_the_router | on_the_new_node};

constexpr MoveSetting from_the_router{.router_is_one = true, .producers = 0b110};
constexpr MoveSetting strict_from_the_router_itself{.have_key = false,
                                                    .order = MoveOrder::strict,
                                                    .most_moves = 3,
                                                    .router_is_one = true,
                                                    .producers = on_the_old_node};

void expect_sound(const MoveSetting &setting, const MoveRules &rules = {})
{
    const Findings findings = explore(MoveModel(setting, rules));
    EXPECT_EQ(findings.fault, "") << told(findings);
    EXPECT_GT(findings.ends, 0U);
    std::cout << findings.states << " states, " << findings.steps << " steps\n";
}

void expect_fault(const MoveSetting &setting, const MoveRules &rules, const char *fault)
{
    const Findings findings = explore(MoveModel(setting, rules));
    EXPECT_EQ(findings.fault, fault) << told(findings);
}

constexpr auto twice = "a job runs twice";
constexpr auto two_of_a_key = "two jobs of one key run at once";
constexpr auto lost = "a job is lost";
constexpr auto dropped = "a job that was accepted is dropped as a duplicate";
constexpr auto younger_first = "a younger job starts before an older one";
constexpr auto on_both_nodes = "a job starts while one of its slot runs on another node";
constexpr auto stuck = "no way leads to the end";

// The right decision if one property of the job is not seen.
template <typename Hide>
Arrival arrival_without(const Hide &hide, int node, SlotPhase phase, MoveOrder order, MovedJob job)
{
    hide(job);
    return arrival(node, phase, order, job);
}

// As in shards/arrived_jobs.cpp: an accepted job whose key is in use is not held, but rejected.
MoveRules as_servers_arrive()
{
    MoveRules rules;
    rules.arrival = [](int node, SlotPhase phase, MoveOrder order, const MovedJob &job) {
        return arrival_without([](MovedJob &each) { each.key_is_used_here = false; }, node, phase,
                               order, job);
    };
    return rules;
}

}  // namespace

TEST(MoveModel, never_brings_an_accepted_job_where_its_key_is_used)
{
    expect_sound(away_from_producers, as_servers_arrive());
}

TEST(MoveModel, loses_and_repeats_nothing_when_a_slot_moves_there_and_back)
{
    expect_sound(there_and_back);
    expect_sound(without_keys);
}

TEST(MoveModel, loses_and_repeats_nothing_when_the_slot_is_the_routers_first)
{
    expect_sound(from_the_router);
}

TEST(MoveModel, keeps_the_order_of_one_node_if_it_is_told_to)
{
    expect_sound(strict_from_the_router);
    expect_sound(strict_from_the_old_node);
    expect_sound(strict_from_the_new_node);
    expect_sound(strict_from_the_router_itself);
}

TEST(MoveModel, loses_and_repeats_nothing_in_strict_order_with_keys)
{
    expect_sound(strict_with_keys);
}

TEST(MoveModel, loses_and_repeats_nothing_when_the_end_of_a_log_is_lost)
{
    expect_sound(with_lost_tail);
    expect_sound(strict_with_lost_tail);
}

// ---- broken rules

TEST(BrokenMove, drops_an_accepted_job_if_no_key_is_held)
{
    MoveRules rules;
    rules.arrival = [](int node, SlotPhase phase, MoveOrder order, const MovedJob &job) {
        const Arrival right = arrival(node, phase, order, job);
        return right == Arrival::hold ? Arrival::accept : right;
    };
    expect_fault(there_and_back, rules, dropped);
}

TEST(BrokenMove, drops_an_accepted_job_if_it_counts_as_a_new_one)
{
    MoveRules rules;
    rules.arrival = [](int node, SlotPhase phase, MoveOrder order, const MovedJob &job) {
        return arrival_without([](MovedJob &each) { each.was_accepted = false; }, node, phase,
                               order, job);
    };
    expect_fault(there_and_back, rules, dropped);
}

TEST(BrokenMove, drops_an_accepted_job_if_the_router_sends_jobs_back_by_the_map_from_before)
{
    MoveRules rules = as_servers_arrive();
    rules.waits_for_moves = false;
    expect_fault(away_from_producers, rules, dropped);
}

TEST(BrokenMove, runs_two_jobs_of_a_key_if_all_in_the_table_may_start)
{
    MoveRules rules;
    rules.may_start_in = [](SlotPhase phase, MoveOrder, const MovedJob &) {
        return !must_go_back(phase);
    };
    expect_fault(there_and_back, rules, two_of_a_key);
}

TEST(BrokenMove, leaves_late_jobs_behind_if_only_a_leaving_slot_is_emptied)
{
    MoveRules rules;
    rules.must_go_back = [](SlotPhase phase) { return phase == SlotPhase::leaving; };
    expect_fault(there_and_back, rules, stuck);
}

TEST(BrokenMove, loses_the_order_if_jobs_do_not_queue_behind_those_held)
{
    MoveRules rules;
    rules.arrival = [](int node, SlotPhase phase, MoveOrder order, const MovedJob &job) {
        return arrival_without([](MovedJob &each) { each.is_behind_others = false; }, node, phase,
                               order, job);
    };
    expect_fault(strict_from_the_router, rules, younger_first);
}

TEST(BrokenMove, loses_the_order_if_held_jobs_are_let_in_one_by_one_as_they_arrived)
{
    MoveRules rules;
    rules.lets_all_in_at_once = false;
    rules.comes_before = [](const HeldJob &, const HeldJob &) { return false; };
    expect_fault(strict_from_the_router, rules, younger_first);
}

TEST(BrokenMove, loses_the_order_of_a_key_if_held_jobs_are_let_in_as_they_arrived)
{
    MoveRules rules;
    rules.comes_before = [](const HeldJob &, const HeldJob &) { return false; };
    expect_fault(strict_with_keys, rules, younger_first);
}

TEST(BrokenMove, loses_the_order_if_a_leaving_slot_goes_on)
{
    MoveRules rules;
    rules.may_start_in = [](SlotPhase phase, MoveOrder order, const MovedJob &job) {
        return phase == SlotPhase::leaving || may_start_in(phase, order, job);
    };
    expect_fault(strict_from_the_router, rules, younger_first);
}

TEST(BrokenMove, runs_a_slot_on_two_nodes_if_returned_comes_before_what_runs_has_ended)
{
    MoveRules rules;
    rules.may_say_returned = [](MoveOrder order, const Leaving &leaving) {
        return may_say_returned(order,
                                {leaving.has_waiting_jobs, false, leaving.producers_are_done});
    };
    expect_fault(strict_from_the_router, rules, on_both_nodes);
}

TEST(BrokenMove, loses_the_order_if_returned_comes_before_the_waiting_jobs)
{
    MoveRules rules;
    rules.may_say_returned = [](MoveOrder order, const Leaving &leaving) {
        return may_say_returned(order,
                                {false, leaving.has_running_jobs, leaving.producers_are_done});
    };
    expect_fault(strict_from_the_router, rules, younger_first);
}

TEST(BrokenMove, loses_the_order_if_returned_comes_before_last)
{
    MoveRules rules;
    rules.may_say_returned = [](MoveOrder order, const Leaving &leaving) {
        return may_say_returned(order, {leaving.has_waiting_jobs, leaving.has_running_jobs, true});
    };
    expect_fault(strict_from_the_router, rules, younger_first);
    expect_fault(strict_from_the_router_itself, rules, younger_first);
}

TEST(BrokenResync, loses_jobs_if_none_are_sent_again)
{
    MoveRules rules;
    rules.is_sent_again = [](int, const LastWord &) { return false; };
    expect_fault(with_lost_tail_and_no_retry, rules, lost);
}

TEST(BrokenResync, runs_jobs_twice_if_all_are_sent_again)
{
    MoveRules rules;
    rules.is_sent_again = [](int, const LastWord &) { return true; };
    expect_fault(with_lost_tail_and_no_retry, rules, twice);
}

TEST(BrokenResync, runs_jobs_twice_if_those_that_have_left_stay)
{
    MoveRules rules;
    rules.is_stale = [](int, const LastWord &, bool) { return false; };
    expect_fault(with_lost_tail_and_no_retry, rules, twice);
}

TEST(BrokenResync, runs_jobs_twice_if_those_that_come_again_stay)
{
    MoveRules rules;
    rules.is_stale = [](int node, const LastWord &last_word, bool) {
        return is_stale(node, last_word, false);
    };
    expect_fault(with_lost_tail_and_no_retry, rules, twice);
}

TEST(BrokenResync, holds_jobs_for_ever_if_lost_keys_are_not_released)
{
    MoveRules rules;
    rules.must_release = [](bool, bool) { return false; };
    expect_fault(with_lost_tail_and_no_retry, rules, stuck);
}

TEST(BrokenResync, loses_jobs_if_messages_are_named_by_numbers_alone)
{
    MoveRules rules;
    rules.names_timelines = false;
    expect_fault(with_lost_tail_and_no_retry, rules, lost);
}

TEST(BrokenResync, loses_jobs_if_the_promoted_node_does_not_wait)
{
    MoveRules rules;
    rules.waits_after_promotion = false;
    expect_fault(with_lost_tail_and_no_retry, rules, lost);
}

TEST(BrokenResync, is_stuck_if_the_router_does_not_read_first)
{
    MoveRules rules;
    rules.reads_before_resync = false;
    expect_fault(with_lost_tail_and_no_retry, rules, stuck);
}
