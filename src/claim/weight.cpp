// Computes the weight of a job under limits.
//
// Nearly all jobs of a queue have the same weight, so the last throttle_factor is cached with its
// weight.
#include "claim/weight.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "claim/rate_turns.hpp"
#include "claim/type_breaker.hpp"
#include "job/claimed_job.hpp"
#include "job/job_row.hpp"
#include "pg/internal_write.hpp"

#include <cmath>

extern "C" {
#include "utils/fmgrprotos.h"
}

namespace hipq::claim {

namespace {

struct KnownWeight {
    std::array<char, 16> number;
    std::size_t length;
    core::Weight weight;
};
constinit KnownWeight known{};

constexpr const char *weigh_sql = R"(
    SELECT job.id, (job.throttle_factor * 1000)::bigint, job.throttle_key FROM {live} AS job WHERE job.id = ANY ($1))";

}  // namespace

core::Weight weight_of(Datum throttle_factor)
{
    const void *number = DatumGetPointer(throttle_factor);
    const std::size_t length = VARSIZE_ANY(number);
    if (length == known.length && std::memcmp(number, known.number.data(), length) == 0)
        return known.weight;
    const double factor =
        DatumGetFloat8(DirectFunctionCall1(::numeric_float8_no_overflow, throttle_factor));
    const core::Weight weight = std::llround(factor * core::weight_unit);
    if (length <= known.number.size()) {
        std::memcpy(known.number.data(), number, length);
        known.length = length;
        known.weight = weight;
    }
    return weight;
}

std::uint64_t key_of(Datum throttle_key)
{
    const auto *key = DatumGetTextPP(throttle_key);
    return core::throttle_key_hash(
        {VARDATA_ANY(key), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(key))});
}

core::Load load_of(const job::ClaimedJob &job)
{
    const job::RowValues &row = *job.values;
    return pg::call([&] {
        return core::Load{weight_of(row.value(core::Column::throttle_factor)),
                          core::name_hash(job.type), key_of(row.value(core::Column::throttle_key))};
    });
}

core::WeightLimits limits_of(const catalog::Queue &queue, const catalog::JobType &type)
{
    return {queue.throttle_limit,  type.throttle_limit,   type.throttle_limit_per_key,
            queue.shares_limits(), rates_of(queue, type), breaker_of(queue, type)};
}

bool is_throttled(const catalog::Queue &queue, std::string_view job_type)
{
    const catalog::JobType *type = queue.find_job_type(job_type);
    return type == nullptr ? queue.throttle_limit >= core::weight_unit || queue.rate.is_set()
                           : limits_of(queue, *type).any();
}

void weigh(const catalog::Queue &queue, std::span<job::DueJob> jobs)
{
    std::vector<std::int64_t> unknown;
    for (const job::DueJob &job : jobs)
        if (!job.is_weighed)
            unknown.push_back(job.id);
    if (unknown.empty())
        return;
    const pg::Rows rows =
        pg::as_hipq([&] { return catalog::statement_for(queue, weigh_sql).run(unknown); });
    for (const pg::Row row : rows) {
        const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const job::DueJob &each) {
            return each.id == row.integer(0);
        });
        job->weight = row.integer(1);
        job->key = core::throttle_key_hash(row.text(2));
        job->is_weighed = true;
    }
}

}  // namespace hipq::claim
