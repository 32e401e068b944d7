// An error of a request: an HTTP status, and the fields of a PostgreSQL error.
#pragma once

#include <stdexcept>
#include <string>

#include "database/connection.hpp"

namespace hipq::web {

class Problem : public std::runtime_error {
public:
    Problem(int code, const std::string &message, std::string advice = "")
        : std::runtime_error(message), status(code), hint(std::move(advice))
    {
    }

    int status;
    std::string hint;
    int retry_after = 0;  // seconds; 0: not set
};

// {"error": {...}}
std::string error_json(const Problem &problem);
std::string error_json(const DatabaseError &failure);

// The status for an error of the server.
int status_of(const DatabaseError &error);

}  // namespace hipq::web
