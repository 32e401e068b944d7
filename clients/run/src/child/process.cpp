// A running program: writes to it, reads from it, ends it, and notices its end.
#include "child/process.hpp"

#include <sys/wait.h>

#include <csignal>

namespace hipq::run {

Process::Process(Loop &loop, Guard &guard, Spawned spawned, Hears hears)
    : loop_(loop), guard_(guard), pid_(spawned.pid), in_(std::move(spawned.in)),
      out_(std::move(spawned.out)), error_(std::move(spawned.error)),
      progress_(std::move(spawned.progress)), hears_(std::move(hears))
{
    watch(out_, &Hears::out);
    watch(error_, &Hears::error);
    watch(progress_, &Hears::progress);
}

Process::~Process()
{
    loop_.cancel(kill_timer_);
    for (Descriptor *descriptor : {&in_, &out_, &error_, &progress_})
        forget(*descriptor);
}

void Process::write(std::string_view bytes)
{
    waiting_ += bytes;
    write_waiting();
}

void Process::close_input()
{
    closes_input_ = true;
    write_waiting();
}

void Process::end(Loop::Milliseconds kill_after)
{
    if (std::exchange(is_ending_, true))
        return;
    ::kill(-pid_, SIGTERM);
    kill_timer_ = loop_.after(kill_after, [this] { ::kill(-pid_, SIGKILL); });
}

bool Process::look()
{
    siginfo_t info{};
    // Its pid stays reserved until the last wait, so no other process is killed.
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != pid_)
        return false;
    ::kill(-pid_, SIGKILL);
    guard_.remove(pid_);
    ::waitpid(pid_, nullptr, 0);
    read_all(out_, &Hears::out);
    read_all(error_, &Hears::error);
    read_all(progress_, &Hears::progress);
    const bool exited = info.si_code == CLD_EXITED;
    const auto exit = hears_.exit;
    exit(exited ? ExitStatus{info.si_status, 0} : ExitStatus{0, info.si_status});
    return true;
}

void Process::watch(Descriptor &descriptor, Hear hear)
{
    loop_.watch(descriptor.get(), POLLIN, [this, &descriptor, hear](short) {
        if (!read_all(descriptor, hear))
            forget(descriptor);
    });
}

// Reads the available data. False: the end has come.
bool Process::read_all(Descriptor &descriptor, Hear hear)
{
    constexpr int most_reads = 64;  // so that other events get their turn
    std::array<char, 16'384> bytes{};
    for (int i = 0; descriptor && i < most_reads; ++i) {
        const ssize_t length = ::read(descriptor.get(), bytes.data(), bytes.size());
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            return length < 0 && errno == EAGAIN;
        (hears_.*hear)({bytes.data(), static_cast<std::size_t>(length)});
    }
    return static_cast<bool>(descriptor);
}

// A program need not read its input.
void Process::write_waiting()
{
    while (in_ && !waiting_.empty()) {
        const ssize_t length = ::write(in_.get(), waiting_.data(), waiting_.size());
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0 && errno == EAGAIN) {
            loop_.watch(in_.get(), POLLOUT, [this](short) { write_waiting(); });
            return;
        }
        if (length < 0)
            return forget(in_);
        waiting_.erase(0, static_cast<std::size_t>(length));
    }
    if (!in_)
        return;
    loop_.forget(in_.get());
    if (closes_input_)
        forget(in_);
}

void Process::forget(Descriptor &descriptor)
{
    if (descriptor)
        loop_.forget(descriptor.get());
    descriptor.close();
}

}  // namespace hipq::run
