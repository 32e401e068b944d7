// Checks parameters. Messages name the parameter but never its value: a secret must not reach a
// log.
#include "core/job/parameters.hpp"

#include <algorithm>
#include <array>

namespace hipq::core {

namespace {

constexpr std::array<std::string_view, json_kind_count> kind_names{
    "null", "boolean", "integer", "number", "string", "array", "object"};
constexpr std::array<std::string_view, json_kind_count> with_articles{
    "null", "a boolean", "an integer", "a number", "a string", "an array", "an object"};

std::string quoted(std::string_view text)
{
    return '"' + std::string(text) + '"';
}

// The kind that was found instead of the expected one. An integer is reported as a number: the lack
// of a fraction is not the mistake.
std::string found_text(JsonKind found)
{
    return std::string(with_articles[static_cast<std::size_t>(
        found == JsonKind::integer ? JsonKind::number : found)]);
}

// "a string", "a string or null"
std::string text_of(const JsonKinds &kinds)
{
    std::string text;
    for (std::size_t i = json_kind_count; i-- > 0;)  // null, if allowed, comes last
        if (kinds.test(i))
            text.append(text.empty() ? "" : " or ").append(with_articles[i]);
    return text;
}

bool accepts(const JsonKinds &kinds, JsonKind found)
{
    if (kinds.none() || kinds.test(static_cast<std::size_t>(found)))
        return true;
    return found == JsonKind::integer && kinds.test(static_cast<std::size_t>(JsonKind::number));
}

Problem invalid(std::string message, std::string hint)
{
    return {Problem::Kind::invalid_value, std::move(message), std::move(hint)};
}

std::optional<Problem> read_kinds(JobParameter &parameter, const JsonMember &declared)
{
    constexpr const char *hint =
        "It is string, number, integer, boolean, object, array or null, or an array of these.";
    const bool is_list =
        declared.kind == JsonKind::array && declared.has_words_only && !declared.words.empty();
    if (declared.kind != JsonKind::string && !is_list)
        return invalid("invalid type of parameter " + quoted(parameter.name), hint);
    for (const std::string &word : declared.words) {
        const auto kind = parse_json_kind(word);
        if (!kind.has_value())
            return invalid(
                "unknown type " + quoted(word) + " of parameter " + quoted(parameter.name), hint);
        parameter.kinds.set(static_cast<std::size_t>(*kind));
    }
    return std::nullopt;
}

std::optional<Problem> read_flag(bool &flag, const JobParameter &parameter,
                                 const JsonMember &declared)
{
    if (declared.kind != JsonKind::boolean)
        return invalid(quoted(declared.name) + " of parameter " + quoted(parameter.name) + " is " +
                           found_text(declared.kind),
                       "Give true or false.");
    flag = declared.is_true;
    return std::nullopt;
}

std::optional<Problem> read_member(JobParameter &parameter, const JsonMember &declared)
{
    if (declared.name == "type")
        return read_kinds(parameter, declared);
    if (declared.name == "required")
        return read_flag(parameter.is_required, parameter, declared);
    if (declared.name == "secret")
        return read_flag(parameter.is_secret, parameter, declared);
    if (declared.name == "default") {
        parameter.has_default = true;
        return std::nullopt;
    }
    return invalid("parameter " + quoted(parameter.name) + " cannot have " + quoted(declared.name),
                   "A parameter has a type, and may have required, default and secret.");
}

// Checks the parts of a declaration against each other.
std::optional<Problem> check_default(const JobParameter &parameter, JsonKind kind)
{
    if (parameter.is_secret)
        return invalid("secret parameter " + quoted(parameter.name) + " cannot have a default",
                       "Views show the parameters of a job type.");
    if (!accepts(parameter.kinds, kind))
        return invalid("the default of parameter " + quoted(parameter.name) + " is " +
                           found_text(kind) + ", not " + text_of(parameter.kinds),
                       "Give a default of its type.");
    return std::nullopt;
}

}  // namespace

std::string_view name(JsonKind kind)
{
    return kind_names[static_cast<std::size_t>(kind)];
}

std::optional<JsonKind> parse_json_kind(std::string_view text)
{
    const auto found = std::ranges::find(kind_names, text);
    return found == kind_names.end()
               ? std::nullopt
               : std::optional(static_cast<JsonKind>(found - kind_names.begin()));
}

std::variant<JobParameter, Problem> read_parameter(const std::string &name,
                                                   std::span<const JsonMember> declared)
{
    JobParameter parameter{name};
    std::optional<JsonKind> default_kind;
    for (const JsonMember &member : declared) {
        if (auto problem = read_member(parameter, member))
            return *std::move(problem);
        if (member.name == "default")
            default_kind = member.kind;
    }
    if (default_kind.has_value())
        if (auto problem = check_default(parameter, *default_kind))
            return *std::move(problem);
    return parameter;
}

Problem not_a_declaration(std::string_view name, JsonKind found)
{
    return invalid("parameter " + quoted(name) + " is declared by " + found_text(found) +
                       ", not an object",
                   R"(Write for example {"to": {"type": "string", "required": true}}.)");
}

std::optional<Problem> check_parameter(const JobParameter &parameter, std::optional<JsonKind> found,
                                       std::string_view job_type)
{
    const std::string data = "job_data of job type " + quoted(job_type);
    if (found.has_value() && !accepts(parameter.kinds, *found))
        return invalid(quoted(parameter.name) + " in " + data + " is " + found_text(*found) +
                           ", not " + text_of(parameter.kinds),
                       "The job type declares its parameters; hipq.job_types_detail shows them.");
    if (!found.has_value() && parameter.is_required && !parameter.has_default)
        return invalid(data + " lacks " + quoted(parameter.name),
                       parameter.kinds.none()
                           ? "It is required."
                           : "It is required: " + text_of(parameter.kinds) + ".");
    return std::nullopt;
}

Problem not_an_object(JsonKind found, std::string_view job_type)
{
    return invalid("job_data of job type " + quoted(job_type) + " is " + found_text(found) +
                       ", not an object",
                   "The job type declares parameters: give an object with their values.");
}

}  // namespace hipq::core
