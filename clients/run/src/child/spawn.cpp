// Starts a program in its own process group, with pipes to it.
#include "child/spawn.hpp"

#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <sstream>

#ifdef __linux__
#include <linux/close_range.h>
#include <sys/prctl.h>
#endif

extern char **environ;

namespace hipq::run {

namespace {

// systemd's variables for hipq-run are not for its children.
bool is_private(const std::string &name)
{
    return name == "NOTIFY_SOCKET" || name == "WATCHDOG_USEC" || name == "WATCHDOG_PID" ||
           name.starts_with("HIPQ_");
}

std::vector<std::string> merged(const Environment &variables)
{
    std::map<std::string, std::string> all;
    for (char **entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const std::size_t equals = text.find('=');
        if (equals != std::string::npos && !is_private(text.substr(0, equals)))
            all[text.substr(0, equals)] = text.substr(equals + 1);
    }
    for (const auto &[name, value] : variables)
        all[name] = value;
    std::vector<std::string> entries;
    entries.reserve(all.size());
    for (const auto &[name, value] : all)
        entries.emplace_back(name).append("=").append(value);
    return entries;
}

std::vector<char *> pointers_to(const std::vector<std::string> &words)
{
    std::vector<char *> pointers;
    pointers.reserve(words.size() + 1);
    for (const std::string &word : words)
        pointers.push_back(const_cast<char *>(word.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

// Its path, as the shell would find it; empty: it does not exist.
std::string path_of(const std::string &name)
{
    if (name.find('/') != std::string::npos)
        return name;
    const char *path = std::getenv("PATH");
    std::stringstream folders(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        std::string file = (folder.empty() ? "." : folder) + "/" + name;
        struct stat found {};
        if (::stat(file.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
            ::access(file.c_str(), X_OK) == 0)
            return file;
    }
    return "";
}

struct Pipes {
    Pipe in = make_pipe();
    Pipe out = make_pipe();
    Pipe error = make_pipe();
    Pipe progress = make_pipe();
    Pipe status = make_pipe();  // reports why the program could not be run
};

// The program dies with hipq-run, even if the guard has gone.
void die_with(pid_t parent)
{
#ifdef __linux__
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (::getppid() != parent)
        ::_exit(0);
}

void forget_signals()
{
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD})
        ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The program does not get descriptors that libraries have opened.
void keep_for_itself(int from)
{
#ifdef CLOSE_RANGE_CLOEXEC
    ::close_range(static_cast<unsigned>(from), ~0U, CLOSE_RANGE_CLOEXEC);
#endif
}

// Between fork and exec, no memory may be allocated here.
[[noreturn]] void become(const Pipes &pipes, const char *path, char *const *arguments,
                         char *const *environment, const Guard &guard, pid_t parent)
{
    ::setpgid(0, 0);
    die_with(parent);
    forget_signals();
    ::dup2(pipes.in.read.get(), 0);
    ::dup2(pipes.out.write.get(), 1);
    ::dup2(pipes.error.write.get(), 2);
    ::dup2(pipes.progress.write.get(), 3);
    keep_for_itself(4);
    guard.add_self();
    ::execve(path, arguments, environment);
    const int why = errno;
    [[maybe_unused]] const ssize_t written = ::write(pipes.status.write.get(), &why, sizeof why);
    ::_exit(127);
}

// Waits until the program runs. Throws if it cannot run.
void await_program(Pipes &pipes, pid_t pid, Guard &guard)
{
    pipes.status.write.close();
    int why = 0;
    ssize_t length = 0;
    do
        length = ::read(pipes.status.read.get(), &why, sizeof why);
    while (length < 0 && errno == EINTR);
    if (length != static_cast<ssize_t>(sizeof why))
        return;
    guard.remove(pid);
    ::waitpid(pid, nullptr, 0);
    throw std::system_error(why, std::generic_category(), "the program cannot be run");
}

}  // namespace

bool is_program(const std::string &name)
{
    const std::string path = path_of(name);
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
}

Spawned spawn(const std::vector<std::string> &command, const Environment &variables, Guard &guard)
{
    Pipes pipes;
    const std::string path = path_of(command.front());
    const std::vector<std::string> entries = merged(variables);
    const std::vector<char *> arguments = pointers_to(command);
    const std::vector<char *> environment = pointers_to(entries);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0)
        throw_system_error("cannot start a process");
    if (pid == 0)
        become(pipes, path.c_str(), arguments.data(), environment.data(), guard, parent);
    ::setpgid(pid, pid);  // in parent and child, whichever comes first
    guard.added(pid);
    await_program(pipes, pid, guard);
    Spawned spawned{pid, std::move(pipes.in.write), std::move(pipes.out.read),
                    std::move(pipes.error.read), std::move(pipes.progress.read)};
    for (const Descriptor *end : {&spawned.in, &spawned.out, &spawned.error, &spawned.progress})
        make_nonblocking(*end);
    return spawned;
}

}  // namespace hipq::run
