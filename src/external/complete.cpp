// hipq.complete: an external worker has done a job, or a session completes a job that was left
// running.
#include "catalog/cache.hpp"
#include "external/held_attempt.hpp"
#include "flow/flow.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"
#include "pg/clock.hpp"
#include "pg/demand.hpp"

namespace hipq::external {

namespace {

using catalog::Queue;
using job::ClaimedJob;

// Returns the value as it is to be stored, detoasted: it may be a TOAST value of another table.
pg::RawValue checked_result(pg::RawValue result)
{
    if (result.null)
        return result;
    pg::check_result(result.value);
    return {JSONBOID, pg::call([&] { return PointerGetDatum(PG_DETOAST_DATUM(result.value)); })};
}

void finish(const Queue &queue, std::span<const job::ClaimedJob> jobs,
            std::span<const pg::RawValue> results)
{
    const pg::Time now = pg::now();
    job::finish_succeeded(queue, jobs, results, now);
    flow::release_after(queue, jobs, now);
}

std::int64_t complete(const HeldAttempt &attempt, pg::RawValue result)
{
    finish(*attempt.queue, {&attempt.job, 1}, {&result, 1});
    return attempt.job.id;
}

void complete(AttemptName name, pg::RawValue result)
{
    const auto catalogue = catalog::catalogue();
    const std::vector<HeldAttempt> held = hold_attempts(*catalogue, {name}, Hold::to_succeed);
    complete(held.empty() ? hold_attempt(*catalogue, name) : held.front(), result);
}

// ---- many ----

using Results = std::map<AttemptName, pg::RawValue>;

// If an attempt is named twice, its first result counts.
Results results_by_attempt(const pg::Arguments &arguments, const std::vector<AttemptName> &names)
{
    Results results;
    const bool are_given = arguments.has({2, "results"});
    const std::vector<pg::RawValue> given =
        are_given ? arguments.jsons({2, "results"}) : std::vector<pg::RawValue>();
    if (are_given)
        check_same_number(names.size(), given.size(), "results");
    for (std::size_t i = 0; i < names.size(); ++i)
        results.try_emplace(names[i], are_given ? checked_result(given[i])
                                                : pg::RawValue{JSONBOID, Datum{0}, true});
    return results;
}

// Jobs of one queue are finished together.
struct Batch {
    std::vector<ClaimedJob> jobs;
    std::vector<pg::RawValue> results;
};

std::vector<std::int64_t> complete_many(const pg::Arguments &arguments)
{
    const std::vector<AttemptName> names = attempt_names(arguments);
    const Results results = results_by_attempt(arguments, names);
    const auto catalogue = catalog::catalogue();
    std::map<const Queue *, Batch> batches;
    std::vector<std::int64_t> ids;
    for (HeldAttempt &attempt : hold_attempts(*catalogue, names, Hold::to_succeed)) {
        Batch &batch = batches[attempt.queue];
        ids.push_back(attempt.job.id);
        batch.results.push_back(results.at({attempt.job.id, attempt.job.attempt}));
        batch.jobs.push_back(std::move(attempt.job));
    }
    for (const auto &[queue, batch] : batches)
        finish(*queue, batch.jobs, batch.results);
    return ids;
}

void complete(const pg::Arguments &arguments)
{
    const AttemptName name{arguments.integer64({0, "id"}), arguments.integer({1, "attempt"})};
    complete(name, checked_result(arguments.raw({2, "result"}, JSONBOID)));
}

std::int64_t complete_by_key(const pg::Arguments &arguments)
{
    const pg::RawValue result = checked_result(arguments.raw("result", JSONBOID));
    const auto catalogue = catalog::catalogue();
    return complete(hold_attempt(*catalogue, arguments.text("queue"), job_key_of(arguments)),
                    result);
}

}  // namespace

}  // namespace hipq::external

HIPQ_FUNCTION(hipq_complete)
{
    hipq::external::complete(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_complete_many)
{
    return hipq::pg::return_ids(hipq::external::complete_many(hipq::pg::Arguments(fcinfo)));
}

HIPQ_FUNCTION(hipq_complete_by_key)
{
    return Int64GetDatum(hipq::external::complete_by_key(hipq::pg::Arguments(fcinfo)));
}
