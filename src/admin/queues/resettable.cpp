// Reads which values go back to the setting.
#include "admin/queues/resettable.hpp"
#include "catalog/checks.hpp"

namespace hipq::admin {

std::vector<std::string> read_reset(const pg::Arguments &arguments, int position,
                                    std::span<const Resettable> known)
{
    std::vector<const char *> known_names;
    for (const Resettable &each : known)
        known_names.push_back(each.name);
    std::vector<std::string> names = arguments.texts_without_nulls(position, "reset");
    catalog::check_reset(names, known_names);
    for (const Resettable &each : known)
        if (arguments.has(each.position) &&
            std::find(names.begin(), names.end(), each.name) != names.end())
            HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                       errmsg("\"%s\" cannot be both set and reset", each.name));
    return names;
}

std::vector<std::string> not_given(const pg::Arguments &arguments,
                                   std::span<const Resettable> known)
{
    std::vector<std::string> names;
    for (const Resettable &each : known)
        if (!arguments.has(each.position))
            names.emplace_back(each.name);
    return names;
}

}  // namespace hipq::admin
