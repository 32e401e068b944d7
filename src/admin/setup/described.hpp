// A described set-up as the caller gave it, parsed and checked.
#pragma once

#include <set>

#include "admin/queues/described_queues.hpp"
#include "admin/queues/sections.hpp"
#include "admin/queues/table_name.hpp"
#include "pg/spi.hpp"

namespace hipq::admin {

// An argument of the function that creates an object.
struct Argument {
    std::string name;
    std::string type;  // with its schema, as in a cast: pg_catalog.int4
    std::string text;  // the text to cast
};

struct Described {
    Section section;
    std::string path;  // queues[2]
    Keys keys;         // a schedule's queue may be missing
    std::vector<Argument> arguments;
    std::string whole;  // as it was given

    std::string name() const { return object_name(section, keys); }
    const std::string *find(std::string_view argument) const;
};

struct Description {
    std::set<Section> sections;      // the sections that are given
    std::vector<Described> objects;  // by section, in the order in which they were given
};

// Raises 22023, with the path, for an invalid description: unknown keys, values of other types,
// missing arguments, an object that is there twice. Raises 42704 for an object of a queue that
// neither exists nor is described. The functions that are called check the values themselves.
Description read_description(const pg::RawValue &json);

// Raises 22023 for an object that is there twice. Ignores schedules without a queue.
void refuse_doubles(const std::vector<Described> &objects);

// Returns the arguments that identify an object, for the function that removes it.
std::vector<Argument> key_arguments(Section section, const Keys &keys);

}  // namespace hipq::admin
