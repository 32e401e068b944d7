// Reads options by their kinds, and writes the statements that store them.
#include "admin/queues/options.hpp"

#include "catalog/checks.hpp"

namespace hipq::admin {

namespace {

using Kind = Option::Kind;

pg::Parameter read(const pg::Arguments &arguments, const Option &option)
{
    switch (option.kind) {
    case Kind::boolean:
        return {arguments.maybe_bool(option.name)};
    case Kind::integer:
        return {arguments.maybe_int(option.name)};
    case Kind::number:
        return {arguments.maybe_double(option.name)};
    case Kind::text:
        (void)arguments.maybe_text(option.name);  // checks its length
        return {arguments.raw(option.name, TEXTOID)};
    case Kind::texts:
        (void)arguments.texts_without_nulls(option.name);
        return {arguments.raw(option.name, TEXTARRAYOID)};
    case Kind::json:
        return {arguments.raw(option.name, JSONBOID)};
    case Kind::seconds:
        return {arguments.maybe_seconds(option.name)};
    case Kind::seconds_or_zero:
        return {arguments.maybe_seconds(option.name, 0)};
    case Kind::interval:
        return {pg::interval_of(arguments.maybe_duration(option.name))};
    case Kind::computed:
        break;
    }
    return {std::optional<std::string>()};
}

std::string column_of(const Option &option)
{
    return option.column == nullptr ? option.name : option.column;
}

std::vector<Option> options_taken(const pg::Arguments &arguments, std::span<const Option> options)
{
    std::vector<Option> taken;
    std::ranges::copy_if(options, std::back_inserter(taken),
                         [&](const Option &option) { return arguments.takes(option.name); });
    return taken;
}

// Joins what `part` makes of each option and its number.
template <class Part>
std::string joined(const std::vector<Option> &options, Part part)
{
    std::string all;
    for (std::size_t i = 0; i < options.size(); ++i)
        all.append(i == 0 ? "" : ", ").append(part(options[i], static_cast<int>(i)));
    return all;
}

std::string coalesce(int parameter, const std::string &otherwise)
{
    return "coalesce($" + std::to_string(parameter) + ", " + otherwise + ")";
}

}  // namespace

OptionValues::OptionValues(const pg::Arguments &arguments, std::span<const Option> options)
    : options_(options_taken(arguments, options))
{
    for (const Option &option : options_)
        values_.push_back(read(arguments, option));
}

void OptionValues::set(const char *name, pg::Parameter value)
{
    const auto found = std::ranges::find_if(
        options_, [&](const Option &option) { return std::string_view(option.name) == name; });
    if (found != options_.end())
        values_[static_cast<std::size_t>(found - options_.begin())] = value;
}

std::string OptionValues::columns() const
{
    return joined(options_, [](const Option &option, int) { return column_of(option); });
}

std::string OptionValues::of_new(int first) const
{
    return joined(options_, [&](const Option &option, int i) {
        return option.if_new == nullptr ? "$" + std::to_string(first + i)
                                        : coalesce(first + i, option.if_new);
    });
}

std::string OptionValues::changes(int first, int to_reset) const
{
    return joined(options_, [&](const Option &option, int i) {
        const std::string column = column_of(option);
        const std::string kept = coalesce(first + i, column);
        if (!option.falls_back())
            return column + " = " + kept;
        return column + " = CASE WHEN '" + option.name + "' = ANY ($" + std::to_string(to_reset) +
               ") THEN NULL ELSE " + kept + " END";
    });
}

std::string OptionValues::from_excluded() const
{
    return joined(options_, [](const Option &option, int) {
        return column_of(option) + " = EXCLUDED." + column_of(option);
    });
}

std::vector<pg::Parameter> OptionValues::after(std::vector<pg::Parameter> before) const
{
    before.insert(before.end(), values_.begin(), values_.end());
    return before;
}

std::vector<std::string> read_reset(const pg::Arguments &arguments, std::span<const Option> options)
{
    std::vector<const char *> known;
    for (const Option &option : options_taken(arguments, options))
        if (option.falls_back())
            known.push_back(option.name);
    std::vector<std::string> names = arguments.texts_without_nulls("reset");
    catalog::check_reset(names, known);
    for (const std::string &name : names)
        if (arguments.has(name.c_str()))
            HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                       errmsg("\"%s\" cannot be both set and reset", name.c_str()));
    return names;
}

std::vector<std::string> not_given(const pg::Arguments &arguments, std::span<const Option> options)
{
    std::vector<std::string> names;
    for (const Option &option : options_taken(arguments, options))
        if (option.falls_back() && !arguments.has(option.name))
            names.emplace_back(option.name);
    return names;
}

}  // namespace hipq::admin
