// describe(): returns the current state of everything that the caller could set up.
#include "admin/queues/described_queues.hpp"
#include "admin/queues/sections.hpp"
#include "admin/queues/table_name.hpp"
#include "admin/setup/json.hpp"
#include "pg/arguments.hpp"

namespace hipq::admin {

namespace {

std::string list_of(const std::vector<Object> &objects, std::size_t section)
{
    std::string list;
    for (const Object &object : objects)
        if (static_cast<std::size_t>(object.section) == section)
            list.append(list.empty() ? "" : ", ").append(object.described);
    return "[" + list + "]";
}

pg::RawValue describe()
{
    const std::vector<Object> objects = read_objects();
    std::string text;
    for (std::size_t section = 0; section < section_facts.size(); ++section)
        text.append(text.empty() ? "" : ", ")
            .append("\"" + std::string(section_facts[section].name) +
                    "\": " + list_of(objects, section));
    return json_of("{" + text + "}");
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_describe)
{
    return hipq::admin::describe().value;
}
