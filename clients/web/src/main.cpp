// hipq-web: serves hipq's web page.
#include <csignal>
#include <cstdio>
#include <ctime>

#include <thread>

#include "page_folder.hpp"
#include "serve/web.hpp"

namespace {

using namespace hipq::web;

constexpr int exit_failure = 1;
constexpr int exit_usage = 64;

// One thread waits for the signals that end the program; no other thread gets them.
sigset_t block_signals()
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ending, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    return ending;
}

// Waits for the end, and checks regularly which sessions are over. Returns whether the end was
// requested.
bool wait_for_end(const sigset_t &ending, Web &web)
{
    const timespec between_looks{5, 0};
    while (sigtimedwait(&ending, nullptr, &between_looks) < 0) {
        if (web.is_over())
            return false;
        web.sweep();
    }
    return true;
}

std::string url_of(const Options &options, int port)
{
    const bool is_six = options.host.find(':') != std::string::npos;
    return "http://" + (is_six ? "[" + options.host + "]" : options.host) + ":" +
           std::to_string(port) + "/";
}

int run(Options options)
{
    if (options.page.empty())
        options.page = page_folder;
    if (!Files(options.page).has_page())
        throw UsageError("there is no page in " + options.page +
                         ": name the folder of its index.html with --page");
    const sigset_t ending = block_signals();
    const Options told = options;
    Web web(std::move(options));
    const int port = web.bind();
    std::fprintf(stderr, "hipq-web: serving on %s\n", url_of(told, port).c_str());
    std::thread server([&] { web.serve(); });
    const bool is_asked_for = wait_for_end(ending, web);
    std::fprintf(stderr, is_asked_for ? "hipq-web: ending\n"
                                      : "hipq-web: no more connections can be taken\n");
    web.stop();
    server.join();
    return is_asked_for ? 0 : exit_failure;
}

int start(const std::vector<std::string> &arguments)
{
    Options options = parse_command_line(arguments);
    if (options.help)
        std::fputs(help_text().c_str(), stdout);
    else if (options.version)
        std::puts("hipq-web " HIPQ_VERSION);
    else
        return run(std::move(options));
    return 0;
}

}  // namespace

int main(int count, char **arguments)
{
    try {
        return start({arguments + 1, arguments + count});
    } catch (const UsageError &error) {
        std::fprintf(stderr, "hipq-web: %s\nTry hipq-web --help.\n", error.what());
        return exit_usage;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "hipq-web: %s\n", error.what());
        return exit_failure;
    }
}
