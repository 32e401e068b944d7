// The parameters of a job type, as stored in hipq.job_type, and checks of job_data against them.
#pragma once

#include "catalog/cache.hpp"
#include "core/job/parameters.hpp"

namespace hipq::catalog {

// The parameters of a type that declares at least one.
struct JobParameters {
    std::vector<core::JobParameter> all;
    std::vector<char> defaults;  // a jsonb object; empty: no parameter has a default
    bool has_secrets = false;
    bool is_checked_at_start = false;  // validate = 'run'
};

// Reads a declaration stored in hipq.job_type. Returns null for one that is invalid, which a write
// that bypassed register_job_type() may have left there.
std::shared_ptr<const JobParameters> read_job_parameters(Datum declared, bool is_checked_at_start);

// Checks a declaration given to register_job_type(): raises 22023 if it is invalid, 54000 if it is
// too large.
void check_job_parameters(Datum declared);

// Returns the job_data to store for a job of the type, with the defaults added. NULL counts as {}.
// Raises 22023 for data that do not fit, unless the type checks them when the job starts; the error
// names `job` if the data belong to a job.
pg::RawValue complete_job_data(const JobType &type, pg::RawValue data,
                               std::optional<std::int64_t> job = std::nullopt);

// Returns why a job that is about to start must not: its type checks job_data at the start, and
// they do not fit.
std::optional<core::Problem> what_does_not_fit(const JobType &type, pg::RawValue data);

// job_data as views show it: values of secrets are masked.
Datum masked(const JobType *type, Datum data);
// The same for the whole job in a dead letter. Also replaces the values that mean "none" in a row
// by null.
Datum masked_job(const JobType *type, Datum job);

}  // namespace hipq::catalog
