// The parameters of a job type, as hipq.job_type has them, and the job_data that they are held
// against.
#pragma once

#include "catalog/cache.hpp"
#include "core/job/parameters.hpp"

namespace hipq::catalog {

// Of a type that declares any.
struct JobParameters {
    std::vector<core::JobParameter> all;
    std::vector<char> defaults;  // a jsonb object; empty: none has one
    bool has_secrets = false;
    bool is_checked_at_start = false;  // validate = 'run'
};

// What hipq.job_type says; null for a declaration that is none: somebody has written it past
// register_job_type().
std::shared_ptr<const JobParameters> read_job_parameters(Datum declared, bool is_checked_at_start);

// 22023 for a declaration that register_job_type() is given and that is none, 54000 for one that is
// too large.
void check_job_parameters(Datum declared);

// What a job of the type is to have for job_data: with the defaults. NULL is {}. 22023 for data
// that do not fit, unless that is found out at the start; the error names the job whose data they
// are, if they are one's.
pg::RawValue complete_job_data(const JobType &type, pg::RawValue data,
                               std::optional<std::int64_t> job = std::nullopt);

// Why a job that is about to start must not: its data do not fit, and its type has that found out
// now.
std::optional<core::Problem> what_does_not_fit(const JobType &type, pg::RawValue data);

// job_data as views show it: without the values of secrets.
Datum masked(const JobType *type, Datum data);
// The same in a whole job as a dead letter has it, with null where the row says that there is none.
Datum masked_job(const JobType *type, Datum job);

}  // namespace hipq::catalog
