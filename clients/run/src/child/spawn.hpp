// Starts a program in its own process group, with pipes to it.
#pragma once

#include <string>
#include <vector>

#include "child/guard.hpp"

namespace hipq::run {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct Spawned {
    pid_t pid = 0;
    Descriptor in;        // its stdin
    Descriptor out;       // its stdout
    Descriptor error;     // its stderr
    Descriptor progress;  // its descriptor 3
};

// Adds the variables to hipq-run's own. Throws std::system_error if the program cannot run.
Spawned spawn(const std::vector<std::string> &command, const Environment &variables, Guard &guard);

// Whether the program exists, as the shell would find it.
bool is_program(const std::string &name);

}  // namespace hipq::run
