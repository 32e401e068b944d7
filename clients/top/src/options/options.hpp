// The command-line options of hipq-top.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hipq::top {

// An error in the user's input.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

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

struct Option {
    std::string name;      // without dashes
    char letter;           // short form; 0: none
    std::string argument;  // its argument, as shown by the help; empty: a switch
    std::string help;
    void (*set)(Options &options, const std::string &value);
};

// All options, in the order of the help.
const std::vector<Option> &option_table();

// Throws UsageError.
Options parse_command_line(const std::vector<std::string> &arguments);

std::string help_text();

// Keywords and values for libpq.
std::vector<std::pair<std::string, std::string>> connection_parts(const Options &options);

}  // namespace hipq::top
