// The states of a job and the steps between them. Pure rules; row_guard.hpp decides who may take a
// step.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace hipq::core {

// In the order of the SQL type hipq.job_state.
enum class JobState : unsigned char { initial, running, error, retry, final };

inline constexpr std::array<JobState, 5> all_job_states{
    JobState::initial, JobState::running, JobState::error, JobState::retry, JobState::final};

std::string_view name(JobState state);
std::optional<JobState> parse_job_state(std::string_view text);

// The job waits and may be claimed.
bool is_waiting(JobState state);

// The job still holds its (job_type, job_key): every state but final.
bool is_unfinished(JobState state);

// A single legal step of the state machine:
// initial -> running, running -> final, running -> error, error -> retry, error -> final,
// retry -> running.
bool is_step(JobState from, JobState to);

// What one committed transaction may do to a job: every single step, and the net effect of several
// legal steps (initial|retry -> final for a cancelled, expired or lock-claimed job; running ->
// retry for an immediate decision; initial|retry -> retry for a release; initial|retry -> error for
// a job that no worker could get). Staying in the same state is no transition and returns false.
bool is_net_effect(JobState from, JobState to);

}  // namespace hipq::core
