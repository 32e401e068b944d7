// hipq-top: shows the activity in hipq's queues on a terminal.
#include "app/app.hpp"
#include "app/print.hpp"
#include "options/options.hpp"
#include "terminal/password.hpp"

#include <clocale>
#include <cstdio>
#include <thread>
#include <unistd.h>

namespace {

using namespace hipq::top;

int usage_error(const std::string &what)
{
    std::fprintf(stderr, "hipq-top: %s\nTry hipq-top --help.\n", what.c_str());
    return exit_usage;
}

int failure(const Answer &answer)
{
    std::fprintf(stderr, "hipq-top: %s\n", answer.error.c_str());
    if (!answer.hint.empty())
        std::fprintf(stderr, "HINT:  %s\n", answer.hint.c_str());
    return answer.is_lost ? exit_unavailable : exit_failure;
}

// Connects before it takes over the terminal: connection errors, and the password prompt, belong on
// an ordinary line.
Answer connect(Database &database)
{
    Answer answer = database.ask(statements::settings());
    if (answer.is_lost && database.needs_password() && ::isatty(STDIN_FILENO) != 0) {
        database.set_password(read_password());
        if (!stop_requested())
            answer = database.ask(statements::settings());
    }
    return answer;
}

int print(Database &database, const Mode &mode, const Options &options)
{
    const std::chrono::duration<double> delay(options.delay);
    while (!stop_requested()) {
        const Answer answer = print_queues(database, mode);
        if (!answer && (options.once || !answer.is_lost))
            return failure(answer);
        if (!answer)
            std::fprintf(stderr, "hipq-top: %s\n", answer.error.c_str());
        if (options.once || std::ferror(stdout) != 0)
            break;
        std::this_thread::sleep_for(delay);
        std::puts("");
    }
    return exit_done;
}

int start(const std::vector<std::string> &arguments)
{
    const Options options = parse_command_line(arguments);
    if (options.help) {
        std::fputs(help_text().c_str(), stdout);
        return exit_done;
    }
    if (options.version) {
        std::puts("hipq-top " HIPQ_VERSION);
        return exit_done;
    }
    const bool on_terminal = !options.once && !options.batch;
    if (on_terminal && (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0))
        throw UsageError("this is no terminal: use --once or --batch");
    catch_signals();
    Database database(connection_parts(options));
    if (const Answer answer = connect(database); !answer)
        return stop_requested() ? exit_done : failure(answer);
    const Mode mode{options.read_only, options.sort, options.lines};
    if (!on_terminal)
        return print(database, mode, options);
    Terminal terminal;
    App(database, terminal, mode, std::chrono::duration<double>(options.delay)).run();
    return exit_done;
}

}  // namespace

int main(int count, char **arguments)
{
    std::setlocale(LC_ALL, "");
    std::setlocale(LC_NUMERIC, "C");
    try {
        return start({arguments + 1, arguments + count});
    } catch (const UsageError &error) {
        return usage_error(error.what());
    } catch (const std::exception &error) {
        std::fprintf(stderr, "hipq-top: %s\n", error.what());
        return exit_failure;
    }
}
