// Finds limits in the catalogue.
#include "shards/shards.hpp"

#include "catalog/cache.hpp"
#include "core/limits/throttle.hpp"

namespace hipq::shards {

namespace {

void add(SharedLimits &limits, const catalog::Queue &queue)
{
    const auto add_one = [&](std::vector<SharedLimit> &to, const std::string &job_type,
                             core::Weight limit) {
        if (limit >= core::weight_unit)
            to.push_back({&queue, {queue.id, job_type}, limit});
    };
    add_one(limits.whole, "", queue.throttle_limit);
    if (!queue.type_facts().has_limits)
        return;
    for (const auto &[name, type] : queue.job_types()) {
        add_one(limits.whole, name, type.throttle_limit);
        add_one(limits.per_key, name, type.throttle_limit_per_key);
    }
}

template <class Matches>
std::optional<SharedLimit> find_if(const std::vector<SharedLimit> &limits, Matches &&matches)
{
    const auto found = std::ranges::find_if(limits, matches);
    return found == limits.end() ? std::nullopt : std::optional(*found);
}

std::optional<SharedLimit> with_key(std::optional<SharedLimit> limit, std::int64_t throttle_key)
{
    if (limit.has_value())
        limit->key.throttle_key = throttle_key;
    return limit;
}

}  // namespace

core::LimiterName SharedLimit::name() const
{
    return {MyDatabaseId, key.queue_id, key.job_type.empty() ? 0 : core::name_hash(key.job_type),
            static_cast<std::uint64_t>(key.throttle_key)};
}

std::optional<SharedLimit> SharedLimits::of_key(const core::LimiterName &name) const
{
    const auto has_type = [&](const SharedLimit &limit) {
        return limit.key.queue_id == name.queue_id &&
               core::name_hash(limit.key.job_type) == name.type;
    };
    return with_key(find_if(per_key, has_type), static_cast<std::int64_t>(name.key));
}

std::optional<SharedLimit> SharedLimits::find(const LimitKey &key) const
{
    const LimitKey of_type{key.queue_id, key.job_type};
    return with_key(find_if(key.is_of_throttle_key() ? per_key : whole,
                            [&](const SharedLimit &limit) { return limit.key == of_type; }),
                    key.throttle_key);
}

SharedLimits shared_limits(const catalog::Catalogue &catalogue)
{
    SharedLimits limits;
    for (const auto &[id, queue] : catalogue.queues)
        if (!queue.is_dropped && queue.shares_limits())
            add(limits, queue);
    return limits;
}

}  // namespace hipq::shards
