// Reads the command line, and checks combinations of options.
#include "options/options.hpp"
#include "options/values.hpp"

#include <libpq-fe.h>

namespace hipq::web {

namespace {

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
    const auto line = program::divide(arguments, option_table(), program::OptionsEnd::at_dashes);
    program::refuse_words(line);
    Options options;
    line.set(options);
    if (options.help || options.version)
        return options;
    check_conninfo(options.conninfo);
    check_exposure(options);
    return options;
}

}  // namespace hipq::web
