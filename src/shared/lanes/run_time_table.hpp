// The measured run time of the jobs of each type, for the whole server.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::lanes {

// The average time per job from its claim to its commit, in microseconds. Nothing for a type that
// has not run since the server started (or that was dropped from the table, which keeps about a
// thousand types).
std::optional<std::int64_t> run_time(int queue_id, std::string_view job_type);

// Records one more run of `microseconds`.
void note_run_time(int queue_id, Oid owner, std::string_view job_type, std::int64_t microseconds);

extern const memory::Part run_times_part;

}  // namespace hipq::lanes
