// Names the objects of a described set-up.
#include "admin/queues/sections.hpp"

namespace hipq::admin {

namespace {

std::string named(const char *kind, const std::optional<std::string> &name)
{
    return std::string(kind) + " \"" + name.value_or("") + "\"";
}

std::string job_type_name(const std::optional<std::string> &queue,
                          const std::optional<std::string> &job_type)
{
    return named("job type", job_type) + " of " + named("queue", queue);
}

// Keys: instance, queue, job_type, throttle_key.
std::string paused(const Keys &keys)
{
    if (keys[0].has_value())
        return named("instance", keys[0]);
    if (!keys[2].has_value())
        return named("queue", keys[1]);
    const std::string type = job_type_name(keys[1], keys[2]);
    return keys[3].has_value() ? named("throttle key", keys[3]) + " of " + type : type;
}

}  // namespace

std::string object_name(Section section, const Keys &keys)
{
    switch (section) {
    case Section::instances:
        return named("instance", keys[0]);
    case Section::queues:
        return named("queue", keys[0]);
    case Section::job_types:
        return job_type_name(keys[0], keys[1]);
    case Section::grants:
        return named("privilege", keys[2]) + " on " + named("queue", keys[0]) + " for " +
               named("role", keys[1]);
    case Section::schedules:
        return named("schedule", keys[1]) + " of " + named("queue", keys[0]);
    case Section::pauses:
        return "pause of " + paused(keys);
    }
    return {};
}

}  // namespace hipq::admin
