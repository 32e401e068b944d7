// What goes wrong with a request: a status of HTTP, and the parts of an error of PostgreSQL.
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

std::string error_json(const DatabaseError &problem)
{
    nlohmann::json error{{"message", problem.what()}};
    add(error, "detail", problem.detail);
    add(error, "hint", problem.hint);
    add(error, "sqlstate", problem.sqlstate);
    return written(error);
}

int status_of(const DatabaseError &error)
{
    const std::string &state = error.sqlstate;
    const std::string class_ = state.substr(0, 2);
    if (state == "42501" || state == "25006")
        return 403;
    if (state == "42704")
        return 404;
    if (state == "57014")
        return 504;
    if (class_ == "08" || class_ == "57" || class_ == "53" || class_ == "3F" || state.empty())
        return 503;
    if (class_ == "22" || class_ == "23" || class_ == "55" || class_ == "HQ")
        return 409;
    return 500;
}

}  // namespace hipq::web
