// The options of hipq-run: from its command line, and from a file, which the command line
// overrides.
#pragma once

#include "command_line.hpp"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace hipq::run {

using program::UsageError;
using Seconds = std::chrono::duration<double>;

struct Options {
    std::string conninfo;
    std::vector<std::string> queues;
    std::vector<std::string> types;
    int jobs = 1;
    int prefetch = 0;
    std::string name;
    bool take_over = false;
    std::string capabilities = "{}";
    bool poll = false;
    bool batch = false;
    bool once = false;
    bool drain = false;
    Seconds idle{5};
    Seconds grace{0};  // 0: children may take any time
    Seconds kill_after{5};
    bool failure_is_final = false;
    int max_output = 1'000'000;
    std::string config;
    bool log_is_json = false;
    std::string log_level = "info";
    std::string metrics;
    std::string traces;  // address for spans; empty: from the environment
    bool help = false;
    bool version = false;
    std::vector<std::string> command;
};

// An option of the command line, which is also a key of the file: "yes" and "no" are for switches.
using Option = program::Option<Options>;

// All options, in the order of the help.
const std::vector<Option> &option_table();

// Reads the command line, and the file that it names. Throws UsageError.
Options parse_command_line(const std::vector<std::string> &arguments);

// Sets the options of a file: JSON with comments. Throws UsageError.
void read_config(const std::string &path, Options &options);
void parse_config(const std::string &text, Options &options);

// Checks combinations of options, and fills in the name. Throws UsageError.
void check_options(Options &options);

std::string help_text();

}  // namespace hipq::run
