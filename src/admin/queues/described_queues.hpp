// Instances, queues, job types, rights, schedules and pauses as described objects: the arguments
// that would make them.
#pragma once

#include "admin/queues/sections.hpp"
#include "pg/spi.hpp"

namespace hipq::admin {

struct Object {
    Section section;
    Keys keys;
    std::string whole;      // a JSON object with every argument
    std::string described;  // without those that have their default

    std::string name() const { return object_name(section, keys); }
};

// All of the instances that the caller may set up (a superuser: every one) and of the queues
// that he owns, by section and name. Left out are unregistered job types with their pauses, what
// hipq itself holds after crashes, and the rights of queue owners.
std::vector<Object> read_objects();

// One of them. Needs a transaction; it is there.
Object read_instance(const std::string &name);
Object read_queue(int queue_id);
Object read_job_type(int queue_id, const std::string &name);

// What differs between two states of an object: jsonb, NULL where an argument is NULL.
struct Difference {
    std::string argument;
    pg::RawValue before;
    pg::RawValue after;
    std::optional<std::string> before_text;
    std::optional<std::string> after_text;
};
std::vector<Difference> differences(const Object &before, const Object &after);

}  // namespace hipq::admin
