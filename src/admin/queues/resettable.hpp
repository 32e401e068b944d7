// Arguments whose value can be reset, so that a setting or the queue's value applies again.
#pragma once

#include "pg/arguments.hpp"

#include <span>

namespace hipq::admin {

struct Resettable {
    const char *name;
    int position;
};

// Reads the argument "reset" at this position. 22023 for an unknown name, or if that argument is
// given too.
std::vector<std::string> read_reset(const pg::Arguments &arguments, int position,
                                    std::span<const Resettable> known);

// Returns the arguments that are not given; in an object that is replaced, these are reset.
std::vector<std::string> not_given(const pg::Arguments &arguments,
                                   std::span<const Resettable> known);

}  // namespace hipq::admin
