// Refuses values that the rules in core refuse.
#pragma once

#include "core/job/validate.hpp"
#include "pg/guard.hpp"

namespace hipq::pg {

// 22023 or 54000 for a value that core refused; nothing for nothing.
void demand(const std::optional<core::Problem> &problem);

// job_data that is larger than hipq.max_job_data, nested too deeply, or too
// large as text: 54000.
void check_job_data(Datum job_data);
// The same of a job's result.
void check_result(Datum result);
// jsonb that describes something: 54000 when it is larger than core::most_description, or nested
// too deeply.
void check_description(const char *name, Datum json);

// The canonical text of time windows. 22023 for a text that is none, with the place where it is
// not.
std::string canonical_time_windows(const std::string &text);

}  // namespace hipq::pg
