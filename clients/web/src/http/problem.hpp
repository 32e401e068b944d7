// What goes wrong with a request: a status of HTTP, and the parts of an error of PostgreSQL.
#pragma once

#include <stdexcept>
#include <string>

#include "database/connection.hpp"

namespace hipq::web {

class Problem : public std::runtime_error {
public:
    Problem(int status_, const std::string &message, std::string hint_ = "")
        : std::runtime_error(message), status(status_), hint(std::move(hint_))
    {
    }

    int status;
    std::string hint;
    int retry_after = 0;  // seconds; 0: not said
};

// {"error": {...}}
std::string error_json(const Problem &problem);
std::string error_json(const DatabaseError &error);

// The status that tells of an error of the server.
int status_of(const DatabaseError &error);

}  // namespace hipq::web
