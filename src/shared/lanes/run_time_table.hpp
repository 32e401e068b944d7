// How long jobs of each type run, measured, for the whole server.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::lanes {

// Microseconds per job, from its claim to its commit, on average. Nothing for a type that has not
// run since the server started (or that fell out of the table, which keeps about a thousand types).
std::optional<std::int64_t> run_time(int queue_id, std::string_view job_type);

// Notes one more run of `microseconds`.
void note_run_time(int queue_id, Oid owner, std::string_view job_type, std::int64_t microseconds);

extern const memory::Part run_times_part;

}  // namespace hipq::lanes
