// Reads a description with SQL, which parses JSON and knows the arguments of functions.
#include "admin/setup/described.hpp"

#include <algorithm>

#include "catalog/cache.hpp"
#include "core/job/bounds.hpp"
#include "pg/short_text.hpp"
#include "pg/transaction.hpp"

namespace hipq::admin {

namespace {

// Leaves out the arguments for existing objects, which apply() sets itself. A schedule also has the
// role that it enqueues as, which is not an argument of schedule(): that takes its caller.
constinit pg::Statement select_arguments(R"(
    SELECT argument.name, namespace.nspname || '.' || type.typname, argument.place <= pronargs - pronargdefaults, argument.place
    FROM pg_proc
    CROSS JOIN unnest(proargnames, proargtypes::oid[]) WITH ORDINALITY AS argument (name, type, place)
    JOIN pg_type AS type ON type.oid = argument.type
    JOIN pg_namespace AS namespace ON namespace.oid = type.typnamespace
    WHERE pronamespace = 'hipq'::regnamespace AND proname = $1 AND argument.name NOT IN ('if_not_exists', 'or_replace')
    UNION ALL
    SELECT 'role', 'pg_catalog.regrole', false, 100
    WHERE $1 = 'schedule'
    ORDER BY 4)");

constinit pg::Statement select_sections("SELECT key, jsonb_typeof(value) FROM jsonb_each($1)");
constinit pg::Statement select_elements(R"(
    SELECT jsonb_typeof(value), value::text
    FROM jsonb_array_elements($1 -> $2) WITH ORDINALITY AS element (value, place)
    ORDER BY place)");
constinit pg::Statement select_values(R"(
    SELECT element.place - 1, argument.key, jsonb_typeof(argument.value), argument.value::text, argument.value #>> '{}'
    FROM jsonb_array_elements($1 -> $2) WITH ORDINALITY AS element (value, place)
    CROSS JOIN jsonb_each(element.value) AS argument
    ORDER BY element.place, argument.key)");

struct Known {
    std::string name;
    std::string type;
    bool is_required;
};

// ---- errors ----

[[noreturn]] void refuse(const std::string &problem, const std::string &hint)
{
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s", problem.c_str()),
               errhint("%s", hint.c_str()));
}

std::string quoted(const std::string &text)
{
    return "\"" + pg::short_text(text, core::most_message) + "\"";
}

template <class Items, class Name>
std::string list_of(const Items &items, const Name &name)
{
    std::string text;
    for (const auto &item : items)
        text.append(text.empty() ? "" : ", ").append(name(item));
    return text;
}

[[noreturn]] void refuse_key(const std::string &path, const std::vector<Known> &known)
{
    refuse("unknown key " + quoted(path),
           "Known are " + list_of(known, [](const Known &one) { return one.name; }) + ".");
}

[[noreturn]] void refuse_type(const std::string &path, const std::string &wanted,
                              const std::string &given, const std::string &hint)
{
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("%s is not %s", path.c_str(), wanted.c_str()),
               errdetail("It is of type %s.", given.c_str()), errhint("%s", hint.c_str()));
}

// ---- sections ----

std::optional<Section> find_section(const std::string &name)
{
    for (std::size_t i = 0; i < section_facts.size(); ++i)
        if (section_facts[i].name == name)
            return static_cast<Section>(i);
    return std::nullopt;
}

std::set<Section> read_sections(const pg::RawValue &json)
{
    if (!pg::call([&] { return JB_ROOT_IS_OBJECT(DatumGetJsonbP(json.value)); }))
        refuse("the described state is not an object",
               "Give a JSON object such as hipq.describe() returns.");
    std::set<Section> sections;
    for (const pg::Row row : select_sections.run(json)) {
        const auto section = find_section(row.text(0));
        if (!section.has_value())
            refuse("unknown key " + quoted(row.text(0)),
                   "Known are " + list_of(section_facts, [](const SectionFacts &one) {
                       return one.name;
                   }) + ".");
        if (row.text(1) != "array")
            refuse_type(row.text(0), "an array", row.text(1), "Give an array of objects.");
        sections.insert(*section);
    }
    return sections;
}

// ---- objects ----

std::vector<Known> known_arguments(Section section)
{
    std::vector<Known> known;
    for (const pg::Row row : select_arguments.run(facts_of(section).maker))
        known.push_back({row.text(0), row.text(1), row.boolean(2)});
    return known;
}

// Returns "a number or a string"; nothing if any type fits.
std::optional<std::string> wanted_for(const std::string &type)
{
    if (type == "pg_catalog.jsonb")
        return std::nullopt;
    if (type == "pg_catalog._text")
        return "an array";
    if (type == "pg_catalog.bool")
        return "a boolean";
    if (type == "pg_catalog.int4")
        return "a whole number";
    if (type == "pg_catalog.float8")
        return "a number";
    return type == "hipq.duration" ? "a number or a string" : "a string";
}

bool fits(const std::string &type, const std::string &given)
{
    const auto wanted = wanted_for(type);
    return !wanted.has_value() || wanted->find(given) != std::string::npos;
}

bool is_whole(const std::string &number)
{
    return number.find('.') == std::string::npos;
}

// For a jsonb argument null is a value.
bool is_left_out(const Known &argument, const std::string &given)
{
    return given == "null" && argument.type != "pg_catalog.jsonb";
}

void add_value(Described &object, const std::vector<Known> &known, const pg::Row &row)
{
    const std::string name = row.text(1);
    const std::string path = object.path + "." + name;
    const auto argument =
        std::ranges::find_if(known, [&](const Known &one) { return one.name == name; });
    if (argument == known.end())
        refuse_key(path, known);
    const std::string given = row.text(2);
    if (is_left_out(*argument, given))
        return;
    if (!fits(argument->type, given) ||
        (argument->type == "pg_catalog.int4" && !is_whole(row.text(3))))
        refuse_type(path, *wanted_for(argument->type), given,
                    "It is the argument of hipq." + std::string(facts_of(object.section).maker) +
                        "() of that name.");
    const bool is_json =
        argument->type == "pg_catalog.jsonb" || argument->type == "pg_catalog._text";
    object.arguments.push_back({name, argument->type, is_json ? row.text(3) : row.text(4)});
}

void complete(Described &object, const std::vector<Known> &known)
{
    for (const Known &argument : known)
        if (argument.is_required && object.find(argument.name) == nullptr)
            refuse(object.path + " has no " + quoted(argument.name),
                   "It has to be given for each of the " +
                       std::string(facts_of(object.section).name) + ".");
    const auto &keys = facts_of(object.section).keys;
    for (std::size_t i = 0; i < keys.size() && keys[i] != nullptr; ++i)
        if (const std::string *value = object.find(keys[i]); value != nullptr)
            object.keys[i] = *value;
}

void read_section(const pg::RawValue &json, Section section, std::vector<Described> &objects)
{
    const std::string name = facts_of(section).name;
    const std::vector<Known> known = known_arguments(section);
    const std::size_t first = objects.size();
    for (const pg::Row row : select_elements.run(json, name)) {
        const std::string path = name + "[" + std::to_string(objects.size() - first) + "]";
        if (row.text(0) != "object")
            refuse_type(path, "an object", row.text(0),
                        "Give an object with arguments of hipq." +
                            std::string(facts_of(section).maker) + "().");
        objects.push_back({section, path, {}, {}, row.text(1)});
    }
    for (const pg::Row row : select_values.run(json, name))
        add_value(objects[first + static_cast<std::size_t>(row.integer(0))], known, row);
    for (std::size_t i = first; i < objects.size(); ++i)
        complete(objects[i], known);
}

// Objects are identified by the names of their queues: "hipq.app_mail", which also names app.mail,
// would make two objects of one.
void demand_queues(const std::vector<Described> &objects)
{
    const auto catalogue = catalog::catalogue();
    std::set<std::string, std::less<>> described;
    for (const Described &object : objects) {
        const std::string *name = object.find("queue");
        if (object.section == Section::queues)
            described.insert(*name);
        else if (name != nullptr && !described.contains(*name)) {
            const catalog::Queue *queue = catalogue->find(*name);
            const std::string shown = quoted(*name);
            if (queue == nullptr || queue->full_name() != *name)
                HIPQ_RAISE(
                    errcode(ERRCODE_UNDEFINED_OBJECT),
                    errmsg("%s.queue: queue %s does not exist", object.path.c_str(), shown.c_str()),
                    errhint("Describe it as well: instance.queue, in \"queues\"."));
        }
    }
}

}  // namespace

const std::string *Described::find(std::string_view argument) const
{
    const auto found =
        std::ranges::find_if(arguments, [&](const Argument &one) { return one.name == argument; });
    return found == arguments.end() ? nullptr : &found->text;
}

Description read_description(const pg::RawValue &json)
{
    Description description;
    pg::as_extension_owner([&] {
        description.sections = read_sections(json);
        for (const Section section : description.sections)
            read_section(json, section, description.objects);
    });
    refuse_doubles(description.objects);
    demand_queues(description.objects);
    return description;
}

void refuse_doubles(const std::vector<Described> &objects)
{
    std::map<std::string, const Described *> seen;
    for (const Described &object : objects) {
        if (object.section == Section::schedules && !object.keys[0].has_value())
            continue;
        const auto [found, is_new] = seen.emplace(object.name(), &object);
        if (!is_new)
            refuse(object.path + " describes " + pg::short_text(object.name(), core::most_message) +
                       " again",
                   "It is described by " + found->second->path + ".");
    }
}

std::vector<Argument> key_arguments(Section section, const Keys &keys)
{
    std::vector<Argument> arguments;
    const auto &names = facts_of(section).keys;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] != nullptr && keys[i].has_value())
            arguments.push_back(
                {names[i],
                 std::string_view(names[i]) == "role" ? "pg_catalog.regrole" : "pg_catalog.text",
                 *keys[i]});
    return arguments;
}

}  // namespace hipq::admin
