// Reads the command line, and checks combinations of options.
#include "options/options.hpp"
#include "options/values.hpp"

#include <libpq-fe.h>

namespace hipq::web {

namespace {

const Option *find_option(const std::string &as)
{
    for (const Option &option : option_table())
        if (as == "--" + option.name ||
            (option.letter != 0 && as == std::string("-") + option.letter))
            return &option;
    return nullptr;
}

// Sets the option at a position of the command line. Returns the position after it and its value.
std::size_t take(const std::vector<std::string> &arguments, std::size_t at, Options &options)
{
    const std::string &word = arguments[at++];
    const std::size_t equals = word.rfind("--", 0) == 0 ? word.find('=') : std::string::npos;
    const std::string as = word.substr(0, equals);
    const Option *option = find_option(as);
    if (option == nullptr)
        throw UsageError("there is no option " + as);
    std::string value;
    if (option->is_switch()) {
        if (equals != std::string::npos)
            throw UsageError(as + " takes no value");
    } else if (equals != std::string::npos) {
        value = word.substr(equals + 1);
    } else if (at < arguments.size()) {
        value = arguments[at++];
    } else {
        throw UsageError(as + " needs a value: " + option->argument);
    }
    try {
        option->set(options, value);
    } catch (const UsageError &error) {
        throw UsageError(as + " " + value + ": " + error.what());
    }
    return at;
}

// libpq reports the error. A name alone is that of a database.
void check_conninfo(const std::string &conninfo)
{
    if (conninfo.find('=') == std::string::npos && conninfo.find("://") == std::string::npos)
        return;
    char *problem = nullptr;
    PQconninfoOption *parts = PQconninfoParse(conninfo.c_str(), &problem);
    const std::string what = problem == nullptr ? "" : problem;
    PQfreemem(problem);
    PQconninfoFree(parts);
    if (parts == nullptr)
        throw UsageError("--dbname: " + what.substr(0, what.find('\n')));
}

// Passwords and job data must not cross a network in the clear.
void check_exposure(const Options &options)
{
    if (options.origin.empty() && !is_loopback(options.host))
        throw UsageError("--listen " + options.host +
                         ": others could read passwords on the way; put a proxy with TLS before it "
                         "and name its address with --behind-proxy");
}

}  // namespace

Options parse_command_line(const std::vector<std::string> &arguments)
{
    Options options;
    for (std::size_t at = 0; at < arguments.size();)
        at = take(arguments, at, options);
    if (options.help || options.version)
        return options;
    check_conninfo(options.conninfo);
    check_exposure(options);
    return options;
}

}  // namespace hipq::web
