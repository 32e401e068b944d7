// Stops a worker by SIGTERM or SIGINT while it runs.
#pragma once

#include "hipq/client/loop.hpp"

#include <csignal>

namespace hipq::client {

// At most one in a process at a time.
class Signals {
public:
    Signals(Loop &loop, std::function<void()> on_signal) : loop_(loop)
    {
        if (::pipe(pipe().data()) != 0)
            throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
        for (const int end : pipe()) {
            ::fcntl(end, F_SETFD, FD_CLOEXEC);
            ::fcntl(end, F_SETFL, O_NONBLOCK);
        }
        loop_.watch(pipe()[0], POLLIN, [on_signal = std::move(on_signal)](short) {
            char byte = 0;
            while (::read(pipe()[0], &byte, 1) == 1)
                on_signal();
        });
        struct sigaction action = {};
        action.sa_handler = [](int) {
            const int saved = errno;
            [[maybe_unused]] const ssize_t written = ::write(pipe()[1], "", 1);
            errno = saved;
        };
        ::sigaction(SIGTERM, &action, &old_term_);
        ::sigaction(SIGINT, &action, &old_int_);
    }
    Signals(const Signals &) = delete;
    Signals &operator=(const Signals &) = delete;
    ~Signals()
    {
        ::sigaction(SIGTERM, &old_term_, nullptr);
        ::sigaction(SIGINT, &old_int_, nullptr);
        loop_.forget(pipe()[0]);
        ::close(pipe()[0]);
        ::close(pipe()[1]);
    }

private:
    static std::array<int, 2> &pipe()
    {
        static std::array<int, 2> ends{-1, -1};
        return ends;
    }

    Loop &loop_;
    struct sigaction old_term_ = {};
    struct sigaction old_int_ = {};
};

}  // namespace hipq::client
