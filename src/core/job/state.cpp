// The state machine as two tables: its single steps, and the net effects that several steps of one
// transaction may have. row_guard.cpp decides who may take a step.
#include "core/job/state.hpp"

#include <algorithm>
#include <cstddef>

namespace hipq::core {

namespace {

struct Transition {
    JobState from;
    JobState to;
    bool operator==(const Transition &) const = default;
};

constexpr std::array<std::string_view, all_job_states.size()> state_names{
    "initial", "running", "error", "retry", "final"};

constexpr std::array steps{
    Transition{JobState::initial, JobState::running},
    Transition{JobState::running, JobState::final},
    Transition{JobState::running, JobState::error},
    Transition{JobState::error, JobState::retry},
    Transition{JobState::error, JobState::final},
    Transition{JobState::retry, JobState::running},
};

// Retry to retry, the release of a job that was claimed in the same transaction, is not listed: the
// state does not change.
constexpr std::array shortcuts{
    Transition{JobState::initial, JobState::final}, Transition{JobState::initial, JobState::error},
    Transition{JobState::initial, JobState::retry}, Transition{JobState::retry, JobState::error},
    Transition{JobState::retry, JobState::final},   Transition{JobState::running, JobState::retry},
};

}  // namespace

std::string_view name(JobState state)
{
    return state_names[static_cast<std::size_t>(state)];
}

std::optional<JobState> parse_job_state(std::string_view text)
{
    for (JobState state : all_job_states) {
        if (name(state) == text)
            return state;
    }
    return std::nullopt;
}

bool is_waiting(JobState state)
{
    return state == JobState::initial || state == JobState::retry;
}

bool is_unfinished(JobState state)
{
    return state != JobState::final;
}

bool is_step(JobState from, JobState to)
{
    return std::ranges::find(steps, Transition{from, to}) != steps.end();
}

bool is_net_effect(JobState from, JobState to)
{
    return is_step(from, to) ||
           std::ranges::find(shortcuts, Transition{from, to}) != shortcuts.end();
}

}  // namespace hipq::core
