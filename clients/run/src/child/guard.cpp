// A process that outlives hipq-run briefly: it kills the running programs when hipq-run is killed.
#include "child/guard.hpp"

#include <sys/wait.h>

#include <csignal>

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace hipq::run {

namespace {

// Smaller than PIPE_BUF: writes of several processes do not mix.
struct Message {
    char sign;  // + or -
    pid_t group;
};

// Reads until the end of the pipe, which comes with the death of hipq-run.
std::set<pid_t> groups_at_the_end(int from)
{
    std::set<pid_t> groups;
    Message message{};
    for (;;) {
        const ssize_t length = ::read(from, &message, sizeof message);
        if (length < 0 && errno == EINTR)
            continue;
        if (length != static_cast<ssize_t>(sizeof message))
            return groups;
        if (message.sign == '+')
            groups.insert(message.group);
        else
            groups.erase(message.group);
    }
}

// It shares nothing with hipq-run except the pipe, and no signal of a terminal or a group ends it.
void separate(int from)
{
    ::setpgid(0, 0);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE})
        ::signal(number, SIG_IGN);
    ::signal(SIGCHLD, SIG_DFL);
#ifdef __linux__
    ::prctl(PR_SET_NAME, "hipq-run guard");
#endif
    ::dup2(from, 0);
    const long most = ::sysconf(_SC_OPEN_MAX);
    if (::close_range(1, ~0U, 0) != 0)
        for (int descriptor = 1; descriptor < most; ++descriptor)
            ::close(descriptor);
}

[[noreturn]] void watch_over(int from)
{
    separate(from);
    for (const pid_t group : groups_at_the_end(0))
        ::kill(-group, SIGKILL);
    ::_exit(0);
}

}  // namespace

Guard::Guard()
{
    start();
}

// No program runs any more when hipq-run exits by itself.
Guard::~Guard()
{
    tell_.close();
    ::waitpid(pid_, nullptr, 0);
}

void Guard::start()
{
    Pipe pipe = make_pipe();
    pid_ = ::fork();
    if (pid_ < 0)
        throw_system_error("cannot start a process");
    if (pid_ == 0) {
        pipe.write.close();
        tell_.close();
        watch_over(pipe.read.get());
    }
    tell_ = std::move(pipe.write);
}

void Guard::restart()
{
    start();
    for (const pid_t group : groups_)
        tell('+', group);
}

void Guard::add_self() const
{
    tell('+', ::getpid());
}

void Guard::remove(pid_t group)
{
    groups_.erase(group);
    tell('-', group);
}

// If the guard has just ended, restart() tells the next one.
void Guard::tell(char sign, pid_t group) const
{
    const Message message{sign, group};
    [[maybe_unused]] const ssize_t written = ::write(tell_.get(), &message, sizeof message);
}

}  // namespace hipq::run
