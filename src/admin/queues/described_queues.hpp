// Instances, queues, job types, rights, schedules and pauses as described objects: the arguments
// that would create them.
#pragma once

#include "admin/queues/sections.hpp"
#include "pg/spi.hpp"

namespace hipq::admin {

struct Object {
    Section section;
    Keys keys;
    std::string whole;      // a JSON object with every argument
    std::string described;  // without arguments that have their default

    std::string name() const { return object_name(section, keys); }
};

// Returns the objects of all instances that the caller may set up (for a superuser, every instance)
// and of the queues that the caller owns, by section and name. Leaves out unregistered job types
// with their pauses, pauses that hipq itself made after crashes, and the rights of queue owners.
std::vector<Object> read_objects();

// Each returns one object, which must exist. Needs a transaction.
Object read_instance(const std::string &name);
Object read_queue(int queue_id);
Object read_job_type(int queue_id, const std::string &name);

// A difference between two states of an object: jsonb, NULL where an argument is NULL.
struct Difference {
    std::string argument;
    pg::RawValue before;
    pg::RawValue after;
    std::optional<std::string> before_text;
    std::optional<std::string> after_text;
};
std::vector<Difference> differences(const Object &before, const Object &after);

}  // namespace hipq::admin
