// An error of a request: an HTTP status, and the fields of a PostgreSQL error.
#include "http/problem.hpp"

#include <nlohmann/json.hpp>

namespace hipq::web {

namespace {

void add(nlohmann::json &error, const char *name, const std::string &text)
{
    if (!text.empty())
        error[name] = text;
}

std::string written(const nlohmann::json &error)
{
    return nlohmann::json{{"error", error}}.dump(-1, ' ', false,
                                                 nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string error_json(const Problem &problem)
{
    nlohmann::json error{{"message", problem.what()}};
    add(error, "hint", problem.hint);
    return written(error);
}

std::string error_json(const DatabaseError &failure)
{
    nlohmann::json error{{"message", failure.what()}};
    add(error, "detail", failure.detail);
    add(error, "hint", failure.hint);
    add(error, "sqlstate", failure.sqlstate);
    return written(error);
}

int status_of(const DatabaseError &error)
{
    const std::string &state = error.sqlstate;
    const std::string kind = state.substr(0, 2);
    if (state == "42501" || state == "25006")
        return 403;
    if (state == "42704")
        return 404;
    if (state == "57014")
        return 504;
    if (kind == "08" || kind == "57" || kind == "53" || kind == "3F" || state.empty())
        return 503;
    if (kind == "22" || kind == "23" || kind == "54" || kind == "55" || kind == "HQ")
        return 409;
    return 500;
}

}  // namespace hipq::web
