// The command-line options of hipq-web.
#pragma once

#include "command_line.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace hipq::web {

using program::UsageError;

struct Options {
    std::string conninfo;
    std::string host = "127.0.0.1";
    int port = 8484;
    std::string page;  // folder of the page's files
    std::string
        origin;  // URL at which a proxy serves it, e.g. https://jobs.example.com; empty: no proxy
    bool is_service = false;
    std::chrono::seconds idle{30 * 60};
    std::chrono::seconds lifetime{12 * 60 * 60};
    int max_sessions = 50;
    bool help = false;
    bool version = false;
};

using Option = program::Option<Options>;

// All options, in the order of the help.
const std::vector<Option> &option_table();

// Reads the command line. Throws UsageError.
Options parse_command_line(const std::vector<std::string> &arguments);

std::string help_text();

}  // namespace hipq::web
