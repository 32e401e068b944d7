// Arguments whose value can be taken back: then a setting counts again, or what the queue says.
#pragma once

#include "pg/arguments.hpp"

#include <span>

namespace hipq::admin {

struct Resettable {
    const char *name;
    int position;
};

// The argument "reset" at this position: 22023 for a name that is not among the known, or whose
// argument is given too.
std::vector<std::string> read_reset(const pg::Arguments &arguments, int position,
                                    std::span<const Resettable> known);

// What a function that makes something is not given goes back in the one that it replaces.
std::vector<std::string> not_given(const pg::Arguments &arguments,
                                   std::span<const Resettable> known);

}  // namespace hipq::admin
