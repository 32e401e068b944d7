// Calls of hipq's functions by their names, as a migration has them in its SQL.
#pragma once

#include "admin/setup/described.hpp"

namespace hipq::admin {

// As the caller. Raises what the function raises.
void call_function(const char *function, const std::vector<Argument> &arguments,
                   bool or_replace = false);

// Runs `step`, and puts the path in front of the message of an error. Cancellation and the like go
// on as they are.
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
