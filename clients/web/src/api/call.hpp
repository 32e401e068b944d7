// One call of the interface: what its handler gets and answers.
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
    // What the path names: the n-th group of its pattern.
    std::string part(std::size_t n) const { return request.matches[n].str(); }
    // A parameter of the address; nothing: it is not there.
    std::optional<std::string> parameter(const char *name) const;
    // A text of the body; nothing: it is not there, or null or empty. Throws Problem if it is
    // something else.
    std::optional<std::string> text(const char *name) const;
};

// The object that a body is. Throws Problem if it is none, or nested deeper than anybody asks for:
// what reads JSON by recursion needs a stack as deep.
nlohmann::json object_of(const std::string &body);

// Answers a call with JSON. What it throws becomes an error.
using Handler = std::function<std::string(const Call &)>;

// An object of members that are JSON already.
std::string object(std::initializer_list<std::pair<const char *, std::string>> members);

// A text as JSON.
std::string quoted(const std::string &text);

}  // namespace hipq::web
