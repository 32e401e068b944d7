// Implements the member functions of Queue: names, and job types and pauses read on first use.
#include "catalog/cache.hpp"

#include "catalog/reading/queue_pauses.hpp"
#include "catalog/reading/queue_types.hpp"
#include "core/shards/ids.hpp"
#include "core/text/names.hpp"
#include "pg/guard.hpp"
#include "settings.hpp"

namespace hipq::catalog {

namespace {

// In the order of HandlerKind.
constexpr std::array<std::string_view, 5> handler_kinds{"none", "function", "procedure",
                                                        "statement", "notify"};

std::string qualified(std::string_view table)
{
    const std::string name(table);
    return pg::call([&] { return ::quote_qualified_identifier("hipq", name.c_str()); });
}

}  // namespace

HandlerKind parse_handler_kind(std::string_view text)
{
    const auto found = std::find(handler_kinds.begin(), handler_kinds.end(), text);
    return found == handler_kinds.end() ? HandlerKind::none
                                        : static_cast<HandlerKind>(found - handler_kinds.begin());
}

std::string_view name(HandlerKind kind)
{
    return handler_kinds[static_cast<std::size_t>(kind)];
}

std::string Queue::qualified_table() const
{
    return qualified(table);
}

std::string Queue::live_table() const
{
    return core::live_leaf_name(table);
}

std::string Queue::final_table() const
{
    return core::final_tree_name(table);
}

std::string Queue::qualified_live_table() const
{
    return qualified(live_table());
}

int Queue::max_retries_of(const JobType &type) const
{
    return type.max_retries.value_or(max_retries.value_or(settings::max_retries));
}

const JobType *Queue::find_job_type(std::string_view job_type) const
{
    return types == nullptr ? nullptr : types->find(job_type);
}

const JobTypes &Queue::job_types() const
{
    static const auto *const none = new JobTypes();
    return types == nullptr ? *none : types->all();
}

const TypeFacts &Queue::type_facts() const
{
    static const auto *const none = new TypeFacts();
    return types == nullptr ? *none : types->facts();
}

const Pause *Queue::find_pause(std::string_view job_type) const
{
    if (instance_pause.has_value())
        return &*instance_pause;
    return pause.has_value() ? &*pause : find_type_pause(job_type);
}

std::vector<std::string> Queue::paused_types() const
{
    return pauses == nullptr ? std::vector<std::string>() : pauses->types();
}

const Pause *Queue::find_type_pause(std::string_view job_type) const
{
    return pauses == nullptr ? nullptr : pauses->of_type(job_type);
}

bool Queue::is_held(std::string_view job_type) const
{
    const Pause *of_type = find_type_pause(job_type);
    return of_type != nullptr && of_type->crashes.has_value();
}

const PausedKeys::value_type *Queue::find_key_pause(std::string_view job_type,
                                                    std::string_view throttle_key) const
{
    const PausedKeys *keys = pauses == nullptr ? nullptr : pauses->of_keys(job_type);
    if (keys == nullptr)
        return nullptr;
    const auto found = keys->find(throttle_key);
    return found == keys->end() ? nullptr : &*found;
}

std::vector<std::string> Queue::paused_keys(std::string_view job_type) const
{
    std::vector<std::string> names;
    if (const PausedKeys *keys = pauses == nullptr ? nullptr : pauses->of_keys(job_type))
        for (const auto &[key, key_pause] : *keys)
            names.push_back(key);
    return names;
}

const OpenBreaker *Queue::find_open_breaker(std::string_view job_type) const
{
    return pauses == nullptr ? nullptr : pauses->breaker_of(job_type);
}

bool Queue::has_paused_keys() const
{
    return pauses != nullptr && pauses->has_keys();
}

// Jobs that share a limit must be on the node that keeps the limit, unless nodes share the limit.
core::Placement Queue::placement() const
{
    const bool is_home = shards != nullptr && !has_shared_mode &&
                         (throttle_limit >= core::weight_unit || type_facts().has_limits);
    return {unique_scope, is_home ? core::ThrottleMode::home : core::ThrottleMode::permits};
}

namespace {

bool has_slot_of(const std::shared_ptr<const SlotSet> &slots, std::int64_t job_id)
{
    if (slots == nullptr)
        return false;
    const auto parts = core::decompose_id(job_id);
    return parts.has_value() && slots->test(static_cast<std::size_t>(parts->slot));
}

}  // namespace

bool Queue::has_left_in_order(std::int64_t job_id) const
{
    return has_slot_of(leaving_in_order, job_id);
}

bool Queue::comes_in_order(std::int64_t job_id) const
{
    return has_slot_of(coming_in_order, job_id);
}

}  // namespace hipq::catalog
