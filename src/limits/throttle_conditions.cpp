// Holds the conditions of throttle limits.
//
// The conditions of the throttle limits: whether somebody waits for capacity there, who goes first,
// and else the claim's own question, core::has_capacity, of what runs by the limiters in shared
// memory.
#include "limits/conditions.hpp"

#include "lanes/lanes.hpp"
#include "limits/weight.hpp"

namespace hipq::limits {

namespace {

constexpr std::size_t most_holders = 10;

std::string text_of(core::Weight weight)
{
    std::string text = std::to_string(weight / core::weight_unit);
    if (weight % core::weight_unit != 0)
        text.append(".").append(
            std::to_string(core::weight_unit + weight % core::weight_unit).substr(1));
    return text;
}

// "42 (weighs 2), 43 (weighs 1) and 5 more"
std::string names_of(std::span<const lanes::Holder> holders)
{
    std::string names;
    for (const lanes::Holder &holder : holders.first(std::min(holders.size(), most_holders)))
        names.append(names.empty() ? "" : ", ")
            .append(std::to_string(holder.job_id))
            .append(" (weighs ")
            .append(text_of(holder.weight))
            .append(")");
    if (holders.size() > most_holders)
        names.append(" and ").append(std::to_string(holders.size() - most_holders)).append(" more");
    return names;
}

// "3 of 5 is used by 2 running job(s): 42 (weighs 2), 43 (weighs 1)"
std::string text_of(const lanes::Usage &usage, core::Weight limit)
{
    if (usage.jobs == 0)
        return "nothing of " + text_of(limit) + " is used any more";
    const std::string used = text_of(usage.used) + " of " + text_of(limit);
    return used + " is used by " + std::to_string(usage.jobs) + " running job(s): " +
           (usage.holders.empty() ? "none that weighs anything" : names_of(usage.holders));
}

// One of the limits that stand against a job.
struct Limit {
    const char *condition;
    std::string name;
    core::Weight limit;
    bool is_awaited;  // by a job that goes first
};

Condition condition_of(const Limit &limit, const lanes::Usage &usage, bool has_capacity,
                       core::Weight weight)
{
    if (!has_capacity)
        return {limit.condition, false,
                "The " + limit.name + " is reached: " + text_of(usage, limit.limit) +
                    "; it weighs " + text_of(weight) + ".",
                true};
    if (limit.is_awaited)
        return {limit.condition, false,
                "A job before it waits for capacity under the " + limit.name + ": " +
                    text_of(usage, limit.limit) + ".",
                true};
    if (limit.limit < core::weight_unit)
        return {limit.condition, true, "There is no limit."};
    return {limit.condition, true,
            "There is capacity under the " + limit.name + ": " + text_of(usage.used) + " of " +
                text_of(limit.limit) + " is used."};
}

// Whether a job of the queue, or of the type, waits for capacity: it goes first.
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

Condition queue_throttle_condition(const catalog::Queue &queue, const WaitingJob &job)
{
    const Limit limit{"throttle of queue", "queue's throttle_limit", queue.throttle_limit,
                      is_awaited(queue, job.job_type)};
    const lanes::Usage usage = lanes::usage_of(queue.id, 0, 0);
    return condition_of(limit, usage, core::has_capacity(usage.used, job.weight, limit.limit),
                        job.weight);
}

Condition type_throttle_condition(const catalog::Queue &queue, const catalog::JobType &type,
                                  const WaitingJob &job)
{
    const Limit limit{"throttle of type", "job type's throttle_limit", type.throttle_limit,
                      is_type_awaited(queue, job.job_type)};
    const lanes::Usage usage = lanes::usage_of(queue.id, core::name_hash(type.name), 0);
    return condition_of(limit, usage, core::has_capacity(usage.used, job.weight, limit.limit),
                        job.weight);
}

Condition key_throttle_condition(const catalog::Queue &queue, const catalog::JobType &type,
                                 const WaitingJob &job)
{
    const std::uint64_t key = core::throttle_key_hash(job.throttle_key);
    if (key == 0)
        return {"throttle of key", true, "It has no throttle key."};
    const std::uint64_t hash = core::name_hash(type.name);
    const core::Weight per_key = type.throttle_limit_per_key;
    const bool others_wait = memory::is_loaded() && per_key >= core::weight_unit &&
                             lanes::waits_for_capacity(queue.id, hash, key);
    const Limit limit{"throttle of key", "throttle_limit_per_key of \"" + job.throttle_key + "\"",
                      per_key, others_wait};
    const lanes::Usage usage = lanes::usage_of(queue.id, hash, key);
    return condition_of(limit, usage, core::has_capacity(usage.used, job.weight, limit.limit),
                        job.weight);
}

}  // namespace

Condition capacity_condition(const catalog::Queue &queue, std::string_view job_type)
{
    if (is_awaited(queue, job_type))
        return {"throttle of queue", false, "A job of the queue waits for capacity.", true};
    if (is_type_awaited(queue, job_type))
        return {"throttle of type", false, "A job of the type waits for capacity.", true};
    return {"throttle", true, "Nobody waits for capacity."};
}

std::vector<Condition> throttle_conditions(const catalog::Queue &queue, const WaitingJob &job)
{
    const catalog::JobType *registered = queue.find_job_type(job.job_type);
    const catalog::JobType type = registered != nullptr
                                      ? *registered
                                      : catalog::unregistered_job_type(queue.id, job.job_type);
    return {queue_throttle_condition(queue, job), type_throttle_condition(queue, type, job),
            key_throttle_condition(queue, type, job)};
}

}  // namespace hipq::limits
