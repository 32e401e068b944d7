// Checks that several functions make on what a caller gives, each with its error.
#pragma once

#include "catalog/cache.hpp"
#include "pg/arguments.hpp"
#include "pg/demand.hpp"

namespace hipq::catalog {

using pg::check_job_data;
using pg::demand;

// 42704 when there is no role of that OID (a regrole can be given as a number).
std::string require_role(Oid role);

// 42501 for those who are neither superuser nor owner of the extension: "... may <action>".
void demand_superuser(const char *action);

// How long something is kept, in microseconds: at least a minute, at most 100 years (22023).
void check_retention(const std::optional<std::int64_t> &value);  // of final jobs: may be 0
void check_keeping(const char *name, const std::optional<std::int64_t> &value);

// From now on, in microseconds, returned as it is: 22023 for a negative time, or more than 100
// years.
std::int64_t check_delay(const char *name, std::int64_t value);

// How much more time a job is given: microseconds as seconds, rounded up. 22023 for none, or more
// than 100 years.
std::int64_t check_more(std::int64_t more);

// 22023: with that the job would run longer than its queue allows.
[[noreturn]] void raise_too_long(std::int64_t most);

// How many jobs one call may touch: 22023 unless it is 1 to 1,000,000.
std::int64_t check_most(std::int32_t max_jobs);

// Entries of `reset`: 22023 for one that is not in `known`.
void check_reset(const std::vector<std::string> &reset, std::span<const char *const> known);

// 22023 for a jsonb argument that is given and no object.
void require_object(const pg::Arguments &arguments, int i, const char *name);

// 42704 for a job type that the queue does not have.
[[noreturn]] void raise_unknown_type(const std::string &name, const std::string &queue);

// The queue, for its owner: 42704 as require_queue, 42501 as require_owner.
const Queue &require_own_queue(const Catalogue &catalogue, std::string_view full_name);

}  // namespace hipq::catalog
