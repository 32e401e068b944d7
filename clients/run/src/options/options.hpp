// What hipq-run is told: by its command line, and by a file that the command line wins over.
#pragma once

#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace hipq::run {

// Something that the user got wrong.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

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
    Seconds grace{0};  // 0: children may take as long as they like
    Seconds kill_after{5};
    bool failure_is_final = false;
    int max_output = 1'000'000;
    std::string config;
    bool log_is_json = false;
    std::string log_level = "info";
    std::string metrics;
    std::string traces;  // where spans go; empty: the environment says
    bool help = false;
    bool version = false;
    std::vector<std::string> command;
};

// An option of the command line, which is also a key of the file.
struct Option {
    std::string name;      // without dashes
    char letter;           // of its short form; 0: it has none
    std::string argument;  // what it takes, as the help says it; empty: nothing, it is a switch
    std::string help;
    void (*set)(Options &options, const std::string &value);
    // "yes" and "no" of the file are for switches.
    bool is_switch() const { return argument.empty(); }
};

// All of them, in the order of the help.
const std::vector<Option> &option_table();

// The option of that name; null: there is none.
const Option *find_option(const std::string &name);

// Reads the command line, and the file that it names. Throws UsageError.
Options parse_command_line(const std::vector<std::string> &arguments);

// Sets what a file says: JSON, in which comments are allowed. Throws UsageError.
void read_config(const std::string &path, Options &options);
void parse_config(const std::string &text, Options &options);

// Checks what belongs together, and fills in the name. Throws UsageError.
void check_options(Options &options);

std::string help_text();

}  // namespace hipq::run
