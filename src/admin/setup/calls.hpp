// Calls hipq's functions by name, as a migration does in SQL.
#pragma once

#include "admin/setup/described.hpp"

namespace hipq::admin {

// Calls the function as the caller. Raises what the function raises.
void call_function(const char *function, const std::vector<Argument> &arguments,
                   bool or_replace = false);

// at() runs `step`, and raise_at() prefixes the message of its error with the path. Errors that end
// the statement, such as a cancellation, pass unchanged.
[[noreturn]] void raise_at(const std::string &path, const pg::Error &error);
template <class Step>
void at(const std::string &path, const Step &step)
{
    std::optional<pg::Error> failure;
    try {
        step();
        return;
    } catch (const pg::Error &error) {
        failure = error;
    }
    raise_at(path, *failure);
}

}  // namespace hipq::admin
