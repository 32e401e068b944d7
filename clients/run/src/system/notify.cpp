// Reports the state of hipq-run to systemd: ready, stopping, still alive (sd_notify(3)).
#include "system/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>

#include "child/pipe.hpp"

namespace hipq::run {

namespace {

std::string variable(const char *name)
{
    const char *value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// Half of the time after which systemd considers hipq-run hung.
std::optional<client::Loop::Milliseconds> watchdog_interval()
{
    const std::string pid = variable("WATCHDOG_PID");
    const long microseconds = std::strtol(variable("WATCHDOG_USEC").c_str(), nullptr, 10);
    if (microseconds <= 0 || (!pid.empty() && pid != std::to_string(::getpid())))
        return std::nullopt;
    return client::Loop::Milliseconds(std::max(1L, microseconds / 2000));
}

}  // namespace

Notify::Notify(client::Loop &loop)
    : loop_(loop), socket_(variable("NOTIFY_SOCKET")), interval_(watchdog_interval())
{
    keep_alive();
}

Notify::~Notify()
{
    loop_.cancel(timer_);
}

void Notify::keep_alive()
{
    if (socket_.empty() || !interval_)
        return;
    tell("WATCHDOG=1");
    timer_ = loop_.after(*interval_, [this] { keep_alive(); });
}

// A datagram to a socket in the file system, or to an abstract one ("@").
void Notify::tell(const std::string &state) const
{
    sockaddr_un address{};
    if (socket_.empty() || socket_.size() >= sizeof address.sun_path)
        return;
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, socket_.data(), socket_.size());
    if (socket_[0] == '@')
        address.sun_path[0] = '\0';
    const Descriptor descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
    ::sendto(descriptor.get(), state.data(), state.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr *>(&address), length);
}

}  // namespace hipq::run
