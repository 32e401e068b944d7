// The command-line options of hipq-web.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace hipq::web {

// An error in the user's input.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

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

struct Option {
    std::string name;      // without dashes
    char letter;           // short form; 0: none
    std::string argument;  // its argument, as shown by the help; empty: a switch
    std::string help;
    void (*set)(Options &options, const std::string &value);
    bool is_switch() const { return argument.empty(); }
};

// All options, in the order of the help.
const std::vector<Option> &option_table();

// Reads the command line. Throws UsageError.
Options parse_command_line(const std::vector<std::string> &arguments);

std::string help_text();

}  // namespace hipq::web
