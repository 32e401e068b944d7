// Raises errors for values that the rules in core refuse.
#pragma once

#include "core/job/validate.hpp"
#include "pg/guard.hpp"

namespace hipq::pg {

// 22023 or 54000 for a value that core refused; returns if there is no problem.
void demand(const std::optional<core::Problem> &problem);

// 54000 for job_data that is larger than hipq.max_job_data, nested too deeply, or too large as
// text.
void check_job_data(Datum job_data);
// The same for a job's result.
void check_result(Datum result);
// For jsonb that describes something: 54000 if it is larger than core::most_description, nested too
// deeply, or too large as text.
void check_description(const char *name, Datum json);

// Returns the canonical text of time windows. 22023 for an invalid text, with the position of the
// mistake.
std::string canonical_rate(const std::string &text);
std::string canonical_breaker(const std::string &text);
std::string canonical_time_windows(const std::string &text);

}  // namespace hipq::pg
