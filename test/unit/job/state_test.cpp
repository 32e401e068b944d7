// The state machine, pair by pair, against independent tables.
#include "core/job/state.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hipq::core {
namespace {

constexpr std::size_t state_count = all_job_states.size();
using Matrix = std::array<std::string_view, state_count>;

// Row: from, column: to, both in the order initial running error retry final; 'x' = allowed.
constexpr Matrix steps{
    ".x...",  // initial
    "..x.x",  // running
    "...xx",  // error
    ".x...",  // retry
    ".....",  // final
};
constexpr Matrix net_effects{
    ".xxxx",  // initial
    "..xxx",  // running
    "...xx",  // error
    ".xx.x",  // retry
    ".....",  // final
};

bool allowed(const Matrix &matrix, JobState from, JobState to)
{
    return matrix[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] == 'x';
}

std::string pair_name(JobState from, JobState to)
{
    return std::string{name(from)} + " -> " + std::string{name(to)};
}

TEST(State, NamesReadBack)
{
    for (JobState state : all_job_states)
        EXPECT_EQ(parse_job_state(name(state)), state);
}

TEST(State, NamesAreThoseOfTheSqlType)
{
    EXPECT_EQ(name(JobState::initial), "initial");
    EXPECT_EQ(name(JobState::running), "running");
    EXPECT_EQ(name(JobState::error), "error");
    EXPECT_EQ(name(JobState::retry), "retry");
    EXPECT_EQ(name(JobState::final), "final");
}

TEST(State, OtherTextsAreNoState)
{
    for (std::string_view text :
         {"", "Initial", "FINAL", " final", "final ", "done", "retr", "retryy"})
        EXPECT_EQ(parse_job_state(text), std::nullopt) << text;
}

TEST(State, StepsOfEveryPair)
{
    for (JobState from : all_job_states) {
        for (JobState to : all_job_states)
            EXPECT_EQ(is_step(from, to), allowed(steps, from, to)) << pair_name(from, to);
    }
}

TEST(State, NetEffectsOfEveryPair)
{
    for (JobState from : all_job_states) {
        for (JobState to : all_job_states)
            EXPECT_EQ(is_net_effect(from, to), allowed(net_effects, from, to))
                << pair_name(from, to);
    }
}

TEST(State, EveryNetEffectIsAChainOfSteps)
{
    bool reachable[state_count][state_count]{};
    for (JobState from : all_job_states) {
        for (JobState to : all_job_states)
            reachable[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] =
                is_step(from, to);
    }
    for (std::size_t via = 0; via < state_count; ++via) {
        for (std::size_t from = 0; from < state_count; ++from) {
            for (std::size_t to = 0; to < state_count; ++to)
                reachable[from][to] =
                    reachable[from][to] || (reachable[from][via] && reachable[via][to]);
        }
    }
    for (JobState from : all_job_states) {
        for (JobState to : all_job_states) {
            const bool is_reachable =
                reachable[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
            EXPECT_TRUE(is_reachable || !is_net_effect(from, to)) << pair_name(from, to);
        }
    }
}

TEST(State, NothingLeavesFinalAndNothingReturnsToInitial)
{
    for (JobState state : all_job_states) {
        EXPECT_FALSE(is_net_effect(JobState::final, state)) << name(state);
        EXPECT_FALSE(is_net_effect(state, JobState::initial)) << name(state);
    }
}

TEST(State, WaitingAndUnfinished)
{
    for (JobState state : all_job_states) {
        EXPECT_EQ(is_waiting(state), state == JobState::initial || state == JobState::retry)
            << name(state);
        EXPECT_EQ(is_unfinished(state), state != JobState::final) << name(state);
    }
}

TEST(State, OnlyWaitingJobsStartRunning)
{
    for (JobState state : all_job_states)
        EXPECT_EQ(is_step(state, JobState::running), is_waiting(state)) << name(state);
}

}  // namespace
}  // namespace hipq::core
