// The command-line options of hipq-top.
#pragma once

#include "command_line.hpp"

#include <string>
#include <utility>
#include <vector>

namespace hipq::top {

using program::UsageError;

enum ExitCode { exit_done = 0, exit_failure = 1, exit_usage = 64, exit_unavailable = 69 };

struct Options {
    std::string host;
    std::string port;
    std::string user;
    std::string dbname;  // a name, a URI, or "host=... service=..."
    double delay = 1;
    bool once = false;
    bool batch = false;
    std::string sort = "busy";
    int lines = -1;  // negative: all queues
    bool read_only = false;
    bool help = false;
    bool version = false;
};

using Option = program::Option<Options>;

// All options, in the order of the help.
const std::vector<Option> &option_table();

// Throws UsageError.
Options parse_command_line(const std::vector<std::string> &arguments);

std::string help_text();

// Keywords and values for libpq.
std::vector<std::pair<std::string, std::string>> connection_parts(const Options &options);

}  // namespace hipq::top
