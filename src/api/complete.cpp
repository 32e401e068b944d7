// hipq.complete: an external worker has done a job, or whoever was to complete it later.
#include "api/held_attempt.hpp"
#include "pg/clock.hpp"
#include "storage/demand.hpp"
#include "storage/finish.hpp"

namespace hipq::api {

namespace {

using storage::ClaimedJob;
using storage::Queue;

// As it is to be stored: a value read from another table may still lie there.
pg::RawValue checked_result(pg::RawValue result)
{
    if (result.null)
        return result;
    storage::check_result(result.value);
    return {JSONBOID, pg::call([&] { return PointerGetDatum(PG_DETOAST_DATUM(result.value)); })};
}

std::int64_t complete(const HeldAttempt &attempt, pg::RawValue result)
{
    storage::finish_succeeded(*attempt.queue, {&attempt.job, 1}, {&result, 1}, pg::now());
    return attempt.job.id;
}

// ---- many ----

using Results = std::map<AttemptName, pg::RawValue>;

// The first counts where an attempt is named twice.
Results results_by_attempt(const Arguments &arguments, const std::vector<AttemptName> &names)
{
    Results results;
    const bool are_given = arguments.has(2);
    const std::vector<pg::RawValue> given = are_given ? arguments.jsons(2, "results") : std::vector<pg::RawValue>();
    if (are_given)
        check_same_number(names.size(), given.size(), "results");
    for (std::size_t i = 0; i < names.size(); ++i)
        results.try_emplace(names[i], are_given ? checked_result(given[i]) : pg::RawValue{JSONBOID, Datum{0}, true});
    return results;
}

// Jobs of one queue are finished together.
struct Batch {
    std::vector<ClaimedJob> jobs;
    std::vector<pg::RawValue> results;
};

std::vector<std::int64_t> complete_many(const Arguments &arguments)
{
    const std::vector<AttemptName> names = attempt_names(arguments, 0, 1);
    const Results results = results_by_attempt(arguments, names);
    const auto catalogue = storage::catalogue();
    std::map<const Queue *, Batch> batches;
    std::vector<std::int64_t> ids;
    for (HeldAttempt &attempt : hold_attempts(*catalogue, names)) {
        Batch &batch = batches[attempt.queue];
        ids.push_back(attempt.job.id);
        batch.results.push_back(results.at({attempt.job.id, attempt.job.attempt}));
        batch.jobs.push_back(std::move(attempt.job));
    }
    for (const auto &[queue, batch] : batches)
        storage::finish_succeeded(*queue, batch.jobs, batch.results, pg::now());
    return ids;
}

void complete(const Arguments &arguments)
{
    const AttemptName name{arguments.integer64(0, "id"), arguments.integer(1, "attempt")};
    const pg::RawValue result = checked_result(arguments.raw(2, JSONBOID));
    const auto catalogue = storage::catalogue();
    complete(hold_attempt(*catalogue, name), result);
}

std::int64_t complete_by_key(const Arguments &arguments)
{
    const pg::RawValue result = checked_result(arguments.raw(3, JSONBOID));
    const auto catalogue = storage::catalogue();
    return complete(
        hold_attempt(*catalogue, arguments.text(0, "queue"), arguments.text(1, "job_type"), arguments.text(2, "job_key")),
        result);
}

}  // namespace

}  // namespace hipq::api

HIPQ_FUNCTION(hipq_complete)
{
    hipq::api::complete(hipq::api::Arguments(fcinfo));
    return hipq::api::return_void();
}

HIPQ_FUNCTION(hipq_complete_many)
{
    return hipq::api::return_ids(hipq::api::complete_many(hipq::api::Arguments(fcinfo)));
}

HIPQ_FUNCTION(hipq_complete_by_key)
{
    return Int64GetDatum(hipq::api::complete_by_key(hipq::api::Arguments(fcinfo)));
}
