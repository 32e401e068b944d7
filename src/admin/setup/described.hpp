// A described set-up as a caller gives it: read and checked.
#pragma once

#include <set>

#include "admin/queues/described_queues.hpp"
#include "admin/queues/sections.hpp"
#include "admin/queues/table_name.hpp"
#include "pg/spi.hpp"

namespace hipq::admin {

// An argument of the function that makes an object.
struct Argument {
    std::string name;
    std::string type;  // with its schema, as a cast has it: pg_catalog.int4
    std::string text;  // what is to be cast
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
    std::set<Section> sections;      // that are there
    std::vector<Described> objects;  // by section, in the order in which they were given
};

// Raises 22023, with the path of what is wrong, for what is no description: other keys, values of
// other types, arguments that are missing, an object that is there twice. 42704 for an object of a
// queue that neither exists nor is described. What the values mean is checked by the functions that
// take them.
Description read_description(const pg::RawValue &json);

// 22023 for an object that is there twice. Schedules without a queue are left out.
void refuse_doubles(const std::vector<Described> &objects);

// The arguments that name an object, for the function that removes it.
std::vector<Argument> key_arguments(Section section, const Keys &keys);

}  // namespace hipq::admin
