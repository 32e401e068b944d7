// The sections that describe() and apply() know, in the order in which they are created. Each
// object of a section has the arguments of the function that creates it.
#pragma once

#include <array>
#include <optional>
#include <string>

namespace hipq::admin {

enum class Section : unsigned char { instances, queues, job_types, grants, schedules, pauses };

constexpr std::size_t most_keys = 4;
// Identifies an object in its section: the values of SectionFacts::keys, in their order.
using Keys = std::array<std::optional<std::string>, most_keys>;

struct SectionFacts {
    const char *name;     // in the description
    const char *maker;    // the function that creates or changes an object
    const char *remover;  // takes the keys
    std::array<const char *, most_keys> keys;
    bool has_or_replace;  // of the maker
};

constexpr std::array<SectionFacts, 6> section_facts{{
    {"instances", "create_instance", "drop_instance", {"name"}, true},
    {"queues", "create_queue", "drop_queue", {"queue"}, true},
    {"job_types", "register_job_type", "drop_job_type", {"queue", "job_type"}, true},
    {"grants", "grant_queue", "revoke_queue", {"queue", "role", "privilege"}, false},
    {"schedules", "schedule", "unschedule", {"queue", "name"}, false},
    {"pauses", "pause", "resume", {"instance", "queue", "job_type", "throttle_key"}, false},
}};

constexpr const SectionFacts &facts_of(Section section)
{
    return section_facts[static_cast<std::size_t>(section)];
}

// For messages and results: job type "welcome" of queue "app.mail".
std::string object_name(Section section, const Keys &keys);

}  // namespace hipq::admin
