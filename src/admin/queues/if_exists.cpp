// Reads the two arguments and raises the NOTICEs.
#include "admin/queues/if_exists.hpp"

#include "core/job/bounds.hpp"
#include "pg/short_text.hpp"

namespace hipq::admin {

namespace {

void tell(const std::string &object, const std::string &what)
{
    pg::call([&] { ereport(NOTICE, errmsg("%s: %s", object.c_str(), what.c_str())); });
}

std::string shown_value(const std::optional<std::string> &value)
{
    return value.has_value() ? pg::short_text(*value, core::most_message) : "NULL";
}

}  // namespace

IfExists read_if_exists(const pg::Arguments &arguments)
{
    const bool if_not_exists = arguments.maybe_bool("if_not_exists").value_or(false);
    const bool or_replace = arguments.maybe_bool("or_replace").value_or(false);
    if (if_not_exists && or_replace)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("if_not_exists and or_replace are both given"),
                   errhint("With if_not_exists what is there stays as it is, with or_replace it "
                           "becomes what the arguments say."));
    if (or_replace)
        return IfExists::is_replaced;
    return if_not_exists ? IfExists::stays : IfExists::fails;
}

void tell_of_existing(const std::string &object)
{
    pg::call([&] {
        ereport(NOTICE, errcode(ERRCODE_DUPLICATE_OBJECT),
                errmsg("%s already exists, skipping", object.c_str()));
    });
}

void tell_if_new(IfExists if_exists, const std::string &object)
{
    if (if_exists == IfExists::is_replaced)
        tell(object, "created");
}

void tell_of_changes(const Object &before, const Object &after)
{
    std::string changes;
    for (const Difference &difference : differences(before, after))
        changes.append(changes.empty() ? "" : ", ")
            .append(difference.argument + " " + shown_value(difference.before_text) + " -> " +
                    shown_value(difference.after_text));
    tell(after.name(), changes.empty() ? "nothing to change" : changes);
}

}  // namespace hipq::admin
