// apply(): brings the database to a described state, and returns the differences.
//
// Steps go by section: objects are created in the order in which they build on each other, and
// dropped in reverse order. A role has one apply() at a time, so that several processes that start
// together do not take each other's locks in different orders.
#include "admin/queues/described_queues.hpp"
#include "admin/queues/sections.hpp"
#include "admin/setup/calls.hpp"
#include "admin/setup/described.hpp"
#include "admin/setup/json.hpp"
#include "catalog/cache.hpp"
#include "catalog/name_lock.hpp"
#include "catalog/rights.hpp"
#include "enqueue/enqueue.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/subtransaction.hpp"
#include "pg/transaction.hpp"

namespace hipq::admin {

namespace {

using Name = std::pair<Section, Keys>;
using Objects = std::map<Name, Object>;

Objects read_present()
{
    Objects objects;
    for (Object &object : read_objects())
        objects.emplace(Name{object.section, object.keys}, std::move(object));
    return objects;
}

// ---- described objects ----

Oid role_named(const std::string &name)
{
    const pg::Rows rows = pg::as_extension_owner(
        [&] { return pg::run_once("SELECT quote_ident($1)::regrole::oid", name); });
    const Oid role = rows.front().oid(0);
    if (!pg::call([&] { return ::is_member_of_role(catalog::caller(), role); }))
        HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                   errmsg("must be member of role \"%s\"", name.c_str()),
                   errdetail("A schedule enqueues as its role."),
                   errhint("Leave the role out to have it enqueue as you."));
    return role;
}

// The key includes the queue, which schedule() would choose by the job type.
void complete_queue(Described &schedule)
{
    if (schedule.keys[0].has_value())
        return;
    auto catalogue = catalog::catalogue();
    const catalog::Queue &queue =
        enqueue::queue_for(catalogue, std::nullopt, *schedule.find("job_type"));
    schedule.keys[0] = queue.full_name();
    schedule.arguments.push_back({"queue", "pg_catalog.text", *schedule.keys[0]});
}

// Calls schedule() as the role that the schedule enqueues as.
void make_schedule(Described &object)
{
    const std::string *name = object.find("role");
    const Oid role = name == nullptr ? catalog::caller() : role_named(*name);
    pg::as_role(role, [&] {
        complete_queue(object);
        std::vector<Argument> arguments = object.arguments;
        std::erase_if(arguments, [](const Argument &argument) { return argument.name == "role"; });
        call_function(facts_of(object.section).maker, arguments);
    });
}

// A description may be applied long after it was made.
bool is_over(const Described &pause)
{
    const std::string *until = pause.find("until");
    const pg::Time now = pg::now();
    return until != nullptr && pg::read_time_or_duration(*until).at(now) <= now;
}

// pause() keeps the reason of an existing pause, so resume first.
void make_pause(const Described &object, bool is_present)
{
    if (is_present)
        call_function(facts_of(object.section).remover, key_arguments(object.section, object.keys));
    if (!is_over(object))
        call_function(facts_of(object.section).maker, object.arguments);
}

void make(Described &object, bool is_present)
{
    if (object.section == Section::schedules)
        make_schedule(object);
    else if (object.section == Section::pauses)
        make_pause(object, is_present);
    else
        call_function(facts_of(object.section).maker, object.arguments,
                      facts_of(object.section).has_or_replace);
}

void make_all(Description &description, const Objects &present)
{
    for (Described &object : description.objects) {
        const auto found = present.find({object.section, object.keys});
        const bool is_present = found != present.end();
        if (!is_present || found->second.described != object.whole)
            at(object.path, [&] { make(object, is_present); });
    }
    refuse_doubles(description.objects);  // now each schedule has its queue
}

// ---- objects that are not described ----

// An instance stays while any role has a queue in it; hipq's own instance always stays.
bool is_needed(const Object &object)
{
    if (object.section != Section::instances)
        return false;
    const auto catalogue = catalog::catalogue();
    return object.keys[0] == "hipq" ||
           std::ranges::any_of(catalogue->queues, [&](const auto &entry) {
               return !entry.second.is_dropped && entry.second.instance == object.keys[0];
           });
}

// Objects that an earlier step dropped along with others are already gone.
void drop_others(const Description &description)
{
    std::set<Name> described;
    for (const Described &object : description.objects)
        described.insert({object.section, object.keys});
    const Objects present = read_present();
    for (auto entry = present.rbegin(); entry != present.rend(); ++entry) {
        const Object &object = entry->second;
        if (description.sections.contains(object.section) && !described.contains(entry->first) &&
            !is_needed(object))
            at("drop_others", [&] {
                call_function(facts_of(object.section).remover,
                              key_arguments(object.section, object.keys));
            });
    }
}

// ---- differences ----

const pg::RawValue no_json{JSONBOID, Datum{0}, true};
const std::optional<std::string> no_property;

void list_changes(const Object &before, const Object &after, pg::ResultSet &result)
{
    for (const Difference &difference : differences(before, after))
        result.add(after.name(), "change", difference.argument, difference.before,
                   difference.after);
}

void list_differences(const Objects &before, const Objects &after, pg::ResultSet &result)
{
    std::set<Name> names;
    for (const Objects *objects : {&before, &after})
        for (const auto &[name, object] : *objects)
            names.insert(name);
    for (const Name &name : names) {
        const auto old = before.find(name);
        const auto present = after.find(name);
        if (old == before.end())
            result.add(present->second.name(), "create", no_property, no_json,
                       json_of(present->second.described));
        else if (present == after.end())
            result.add(old->second.name(), "drop", no_property, json_of(old->second.described),
                       no_json);
        else if (old->second.whole != present->second.whole)
            list_changes(old->second, present->second, result);
    }
}

// ---- the function ----

// The functions' NOTICEs would only repeat the result.
void quiet_notices()
{
    pg::call([] {
        if (client_min_messages < WARNING)
            (void)::set_config_option("client_min_messages", "warning", PGC_USERSET, PGC_S_SESSION,
                                      GUC_ACTION_SAVE, true, 0, false);
    });
}

Objects take_steps(Description &description, const Objects &present, bool drops_others)
{
    return pg::as_role(catalog::caller(), [&] {
        quiet_notices();
        make_all(description, present);
        if (drops_others)
            drop_others(description);
        return read_present();
    });
}

void apply(const pg::Arguments &arguments, pg::ResultSet &result)
{
    const bool is_dry = arguments.maybe_bool("dry_run").value_or(false);
    const bool drops_others = arguments.maybe_bool("drop_others").value_or(false);
    if (!arguments.has("state"))
        HIPQ_RAISE(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                   errmsg("argument \"state\" must not be null"));
    catalog::lock_set_up(catalog::caller());
    Description description = read_description(arguments.raw("state", JSONBOID));
    const Objects before = read_present();
    Objects after;
    if (const auto error =
            pg::in_subtransaction(is_dry ? pg::Ending::rolled_back : pg::Ending::kept,
                                  [&] { after = take_steps(description, before, drops_others); });
        error.has_value())
        throw *error;  // NOLINT(cert-err60-cpp): as it came
    list_differences(before, after, result);
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_apply)
{
    hipq::pg::ResultSet result(fcinfo);
    hipq::admin::apply(hipq::pg::Arguments(fcinfo), result);
    return hipq::pg::return_void();
}
