// Checks of arguments that several SQL functions share, each with its error.
#pragma once

#include "catalog/cache.hpp"
#include "pg/arguments.hpp"
#include "pg/demand.hpp"

namespace hipq::catalog {

using pg::check_job_data;
using pg::demand;

// Returns the name of a role. Raises 42704 if no role has this OID (a regrole can be given as a
// number).
std::string require_role(Oid role);

// Raises 42501 unless the caller is a superuser or the owner of the extension: "... may <action>".
void demand_superuser(const char *action);

// Retention times in microseconds: raises 22023 unless at least a minute and at most 100 years.
void check_retention(const std::optional<std::int64_t> &value);  // for final jobs; also allows 0
void check_keeping(const char *name, const std::optional<std::int64_t> &value);

// A delay from now, in microseconds. Returns it, or raises 22023 if it is negative or more than 100
// years.
std::int64_t check_delay(const char *name, std::int64_t value);

// The time to add to a job: converts microseconds to seconds, rounded up. Raises 22023 for zero or
// less, or more than 100 years.
std::int64_t check_more(std::int64_t more);

// Raises 22023 because the job would run longer than its queue allows.
[[noreturn]] void raise_too_long(std::int64_t most);

// The number of jobs that one call may change: raises 22023 unless it is 1 to 1,000,000.
std::int64_t check_most(std::int32_t max_jobs);

// Checks the entries of `reset`: raises 22023 for one that is not in `known`.
void check_reset(const std::vector<std::string> &reset, std::span<const char *const> known);

// Raises 22023 for a jsonb argument that is given and is not an object.
void require_object(const pg::Arguments &arguments, pg::Argument which);

// Raises 42704 for a job type that the queue does not have.
[[noreturn]] void raise_unknown_type(const std::string &name, const std::string &queue);

// Returns the queue if the caller owns it. Raises 42704 as require_queue() does, 42501 as
// require_owner() does.
const Queue &require_own_queue(const Catalogue &catalogue, std::string_view full_name);

}  // namespace hipq::catalog
