// Signals as events of the loop.
#include "system/signals.hpp"

#include <csignal>

#include "child/pipe.hpp"

namespace hipq::run {

namespace {

// One for the process, because a signal handler has no other data.
int signal_pipe[2] = {-1, -1};

void handle(int number)
{
    const int saved = errno;
    const auto byte = static_cast<char>(number);
    [[maybe_unused]] const ssize_t written = ::write(signal_pipe[1], &byte, 1);
    errno = saved;
}

void handle_by(void (*handler)(int))
{
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD})
        ::sigaction(number, &action, nullptr);
}

}  // namespace

Signals::Signals(client::Loop &loop, std::function<void()> stop, std::function<void()> child)
    : loop_(loop), stop_(std::move(stop)), child_(std::move(child))
{
    Pipe pipe = make_pipe();
    signal_pipe[0] = ::fcntl(pipe.read.get(), F_DUPFD_CLOEXEC, 10);
    signal_pipe[1] = ::fcntl(pipe.write.get(), F_DUPFD_CLOEXEC, 10);
    for (const int end : signal_pipe)
        ::fcntl(end, F_SETFL, O_NONBLOCK);
    loop_.watch(signal_pipe[0], POLLIN, [this](short) { read(); });
    ::signal(SIGPIPE, SIG_IGN);
    handle_by(handle);
}

Signals::~Signals()
{
    handle_by(SIG_DFL);
    loop_.forget(signal_pipe[0]);
    for (int &end : signal_pipe)
        ::close(std::exchange(end, -1));
}

void Signals::read()
{
    std::array<char, 256> numbers{};
    bool is_child = false;
    ssize_t length = 0;
    while ((length = ::read(signal_pipe[0], numbers.data(), numbers.size())) > 0)
        for (ssize_t i = 0; i < length; ++i)
            if (numbers[static_cast<std::size_t>(i)] == SIGCHLD)
                is_child = true;
            else
                stop_();
    if (is_child)
        child_();
}

}  // namespace hipq::run
