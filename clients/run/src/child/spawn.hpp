// Starts a program in a process group of its own, with pipes to it.
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

// The variables are added to hipq-run's own. Throws
// std::system_error if the program cannot be run.
Spawned spawn(const std::vector<std::string> &command, const Environment &variables, Guard &guard);

// Whether there is such a program, found as the shell would find it.
bool is_program(const std::string &name);

}  // namespace hipq::run
