// Implements the conditions of throttle limits and rates.
//
// The conditions of limits check whether another job waits for capacity under a limit, which then
// goes first. Otherwise they compare the running jobs, by the limiters in shared memory, with the
// limit, as the claim itself does (core::has_capacity).
#include "claim/conditions.hpp"

#include "catalog/cache.hpp"
#include "claim/weight.hpp"
#include "pg/clock.hpp"
#include "shared/lanes/capacity.hpp"
#include "shared/lanes/holders.hpp"
#include "shared/lanes/node_share_table.hpp"
#include "shared/lanes/rates.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::claim {

namespace {

using core::Finding;

// The possible findings of one limit.
struct LimitFindings {
    Finding is_reached;
    Finding share_is_used;
    Finding is_awaited;  // another job waits and goes first
    Finding has_no_limit;
    Finding has_capacity;
};
constexpr LimitFindings queue_findings{
    Finding::queue_limit_is_reached, Finding::queue_share_is_used, Finding::queue_limit_is_awaited,
    Finding::queue_has_no_limit, Finding::queue_has_capacity};
constexpr LimitFindings type_findings{Finding::type_limit_is_reached, Finding::type_share_is_used,
                                      Finding::type_limit_is_awaited, Finding::type_has_no_limit,
                                      Finding::type_has_capacity};
constexpr LimitFindings key_findings{Finding::key_limit_is_reached, Finding::key_share_is_used,
                                     Finding::key_limit_is_awaited, Finding::key_has_no_limit,
                                     Finding::key_has_capacity};

Condition condition_of(const LimitFindings &findings, ThrottleFacts facts, bool is_awaited)
{
    Finding finding = findings.has_capacity;
    if (facts.share.has_value() && !core::share_admits(facts.share->share, facts.share->has_all,
                                                       facts.usage.used, facts.weight))
        finding = findings.share_is_used;
    else if (!facts.share.has_value() &&
             !core::has_capacity(facts.usage.used, facts.weight, facts.limit))
        finding = findings.is_reached;
    else if (is_awaited)
        finding = findings.is_awaited;
    else if (facts.limit < core::weight_unit)
        finding = findings.has_no_limit;
    return {finding, std::move(facts)};
}

// Whether a job of the queue, or of the type, waits for capacity, and so goes first.
bool is_awaited(const catalog::Queue &queue, std::string_view job_type)
{
    return memory::is_loaded() && is_throttled(queue, job_type) &&
           lanes::waits_for_capacity(queue.id);
}
bool is_type_awaited(const catalog::Queue &queue, std::string_view job_type)
{
    return memory::is_loaded() && is_throttled(queue, job_type) &&
           lanes::waits_for_capacity(queue.id, core::name_hash(job_type));
}

Condition queue_throttle_condition(const catalog::Queue &queue, const JobFacts &job)
{
    return condition_of(queue_findings,
                        {lanes::usage_of(queue.id, 0, 0), queue.throttle_limit, job.weight, "",
                         lanes::share_of(queue.id, 0, 0)},
                        is_awaited(queue, job.job_type));
}

Condition type_throttle_condition(const catalog::Queue &queue, const catalog::JobType &type,
                                  const JobFacts &job)
{
    const std::uint64_t hash = core::name_hash(type.name);
    return condition_of(type_findings,
                        {lanes::usage_of(queue.id, hash, 0), type.throttle_limit, job.weight, "",
                         lanes::share_of(queue.id, hash, 0)},
                        is_type_awaited(queue, job.job_type));
}

Condition key_throttle_condition(const catalog::Queue &queue, const catalog::JobType &type,
                                 const JobFacts &job)
{
    const std::uint64_t key = core::throttle_key_hash(job.throttle_key);
    if (key == 0)
        return Finding::job_has_no_key;
    const std::uint64_t hash = core::name_hash(type.name);
    const core::Weight per_key = type.throttle_limit_per_key;
    const bool others_wait = memory::is_loaded() && per_key >= core::weight_unit &&
                             lanes::waits_for_capacity(queue.id, hash, key);
    return condition_of(key_findings,
                        {lanes::usage_of(queue.id, hash, key), per_key, job.weight,
                         job.throttle_key, lanes::share_of(queue.id, hash, key)},
                        others_wait);
}

Condition rate_condition(Finding is_used, Finding has_turn, const core::LimiterName &name,
                         const core::Rate &rate, core::Weight weight)
{
    const pg::Time now = pg::now();
    const lanes::RateUsage usage = lanes::usage_of_rate(name, rate, weight);
    return {usage.wait > 0 ? is_used : has_turn,
            RateFacts{rate, usage.used, weight, now + usage.wait, now}};
}

}  // namespace

Condition capacity_condition(const catalog::Queue &queue, std::string_view job_type)
{
    if (is_awaited(queue, job_type))
        return Finding::queue_capacity_is_awaited;
    if (is_type_awaited(queue, job_type))
        return Finding::type_capacity_is_awaited;
    return Finding::nobody_awaits_capacity;
}

std::vector<Condition> throttle_conditions(const catalog::Queue &queue, const JobFacts &job)
{
    const catalog::JobType *registered = queue.find_job_type(job.job_type);
    const catalog::JobType type = registered != nullptr
                                      ? *registered
                                      : catalog::unregistered_job_type(queue.id, job.job_type);
    return {queue_throttle_condition(queue, job), type_throttle_condition(queue, type, job),
            key_throttle_condition(queue, type, job)};
}

std::vector<Condition> rate_conditions(const catalog::Queue &queue, const JobFacts &job)
{
    std::vector<Condition> conditions;
    if (queue.rate.is_set())
        conditions.push_back(
            rate_condition(Finding::queue_rate_is_used, Finding::queue_rate_has_turn,
                           {MyDatabaseId, queue.id, 0, 0}, queue.rate, job.weight));
    const catalog::JobType *type = queue.find_job_type(job.job_type);
    if (type != nullptr && type->rate.is_set())
        conditions.push_back(rate_condition(
            Finding::type_rate_is_used, Finding::type_rate_has_turn,
            {MyDatabaseId, queue.id, core::name_hash(type->name), 0}, type->rate, job.weight));
    if (const std::uint64_t key = core::throttle_key_hash(job.throttle_key);
        type != nullptr && type->rate_per_key.is_set() && key != 0)
        conditions.push_back(
            rate_condition(Finding::key_rate_is_used, Finding::key_rate_has_turn,
                           {MyDatabaseId, queue.id, core::name_hash(type->name), key},
                           type->rate_per_key, job.weight));
    return conditions;
}

}  // namespace hipq::claim
