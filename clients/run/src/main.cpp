// hipq-run: runs a program for each job of a queue of hipq.
#include <cstdio>
#include <fcntl.h>

#include "doctor/doctor.hpp"
#include "options/options.hpp"
#include "serve/runner.hpp"

namespace {

using namespace hipq::run;

// Descriptors that are opened later must not become stdout.
void open_standard_descriptors()
{
    int descriptor = 0;
    while (descriptor >= 0 && descriptor <= 2)
        descriptor = ::open("/dev/null", O_RDWR);
    if (descriptor > 2)
        ::close(descriptor);
}

// program: with its command, if one was given.
int usage_error(const char *program, const std::string &what)
{
    std::fprintf(stderr, "hipq-run: %s\nTry %s --help.\n", what.c_str(), program);
    return exit_usage;
}

// libpq reports the error.
void check_conninfo(const std::string &conninfo)
{
    const bool is_name =
        conninfo.find('=') == std::string::npos && conninfo.find("://") == std::string::npos;
    if (is_name)
        return;
    char *problem = nullptr;
    PQconninfoOption *parts = PQconninfoParse(conninfo.c_str(), &problem);
    const std::string what = problem == nullptr ? "" : problem;
    PQfreemem(problem);
    PQconninfoFree(parts);
    if (parts == nullptr)
        throw UsageError("--dbname: " + what.substr(0, what.find('\n')));
}

int start(const std::vector<std::string> &arguments)
{
    Options options = parse_command_line(arguments);
    if (options.help) {
        std::fputs(help_text().c_str(), stdout);
        return exit_done;
    }
    if (options.version) {
        std::puts("hipq-run " HIPQ_VERSION);
        return exit_done;
    }
    check_conninfo(options.conninfo);
    if (!is_program(options.command.front()))
        throw UsageError("there is no program \"" + options.command.front() + "\"");
    Guard guard;
    return Runner(std::move(options), guard).run();
}

}  // namespace

int main(int count, char **arguments)
{
    open_standard_descriptors();
    const bool is_doctor = count > 1 && std::string_view(arguments[1]) == "doctor";
    try {
        if (is_doctor)
            return doctor::run({arguments + 2, arguments + count});
        return start({arguments + 1, arguments + count});
    } catch (const UsageError &error) {
        return usage_error(is_doctor ? "hipq-run doctor" : "hipq-run", error.what());
    } catch (const std::exception &error) {
        std::fprintf(stderr, "hipq-run: %s\n", error.what());
        return exit_failure;
    }
}
