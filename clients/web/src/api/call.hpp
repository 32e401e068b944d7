// One call of the interface: the input and output of its handler.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/httplib.hpp"
#include "http/problem.hpp"
#include "sessions/session.hpp"

namespace hipq::web {

struct Call {
    const httplib::Request &request;
    httplib::Response &response;
    std::shared_ptr<Session> session;
    bool is_read_only;
    nlohmann::json body;  // of a POST: an object

    Link &link() const { return *session->link; }
    // The n-th group of the path's pattern.
    std::string part(std::size_t n) const { return request.matches[n].str(); }
    // A parameter of the URL; none: it is not there.
    std::optional<std::string> parameter(const char *name) const;
    // A text of the body; none: it is missing, null or empty. Throws Problem if it has another
    // type.
    std::optional<std::string> text(const char *name) const;
};

// The object in a body. Throws Problem if it is not an object, or is nested too deeply: recursive
// JSON parsers need a stack as deep.
nlohmann::json object_of(const std::string &body);

// Answers a call with JSON. Exceptions become errors.
using Handler = std::function<std::string(const Call &)>;

// An object of members that are already JSON.
std::string object(std::initializer_list<std::pair<const char *, std::string>> members);

// A text as JSON.
std::string quoted(const std::string &text);

}  // namespace hipq::web
