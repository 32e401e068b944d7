// One call of the interface: the input and output of its handler.
#include "api/call.hpp"

namespace hipq::web {

namespace {

// Neither libpq nor PostgreSQL allows it in a text.
void check_text(const char *name, const std::string &text)
{
    if (text.find('\0') != std::string::npos)
        throw Problem(400, std::string("\"") + name + "\" has a character that no text may have");
}

}  // namespace

nlohmann::json object_of(const std::string &body)
{
    static constexpr int deepest = 100;
    const auto check_depth = [](int depth, nlohmann::json::parse_event_t, const nlohmann::json &) {
        if (depth > deepest)
            throw Problem(400, "the body is nested deeper than " + std::to_string(deepest));
        return true;
    };
    nlohmann::json object = nlohmann::json::parse(body, check_depth, false);
    if (!object.is_object())
        throw Problem(400, "the body has to be a JSON object");
    return object;
}

std::optional<std::string> Call::parameter(const char *name) const
{
    if (!request.has_param(name))
        return std::nullopt;
    const std::string text = request.get_param_value(name);
    check_text(name, text);
    return text;
}

std::optional<std::string> Call::text(const char *name) const
{
    const auto found = body.find(name);
    if (found == body.end() || found->is_null())
        return std::nullopt;
    if (!found->is_string())
        throw Problem(400, std::string("\"") + name + "\" has to be a text");
    std::string text = *found;
    check_text(name, text);
    if (text.empty())
        return std::nullopt;
    return text;
}

std::string object(std::initializer_list<std::pair<const char *, std::string>> members)
{
    std::string text;
    for (const auto &[name, value] : members)
        text += (text.empty() ? "{\"" : ",\"") + std::string(name) + "\":" + value;
    return text.empty() ? "{}" : text + "}";
}

std::string quoted(const std::string &text)
{
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace hipq::web
