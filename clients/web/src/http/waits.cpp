// The threads that wait for clients to send or receive: their time limits, and which one gives way
// when a thread is needed.
#include "http/waits.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

namespace hipq::web {

namespace {

// Whether an event came in time.
bool poll_until(int socket, short events, Waits::Clock::time_point until)
{
    pollfd asked{socket, events, 0};
    while (true) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Waits::Clock::now());
        const int found =
            poll(&asked, 1, static_cast<int>(std::max<long>(static_cast<long>(left.count()), 0)));
        if (found > 0)
            return true;
        if (found == 0 || errno != EINTR)
            return false;
    }
}

}  // namespace

bool Waits::wait(int socket, short events, Clock::time_point since, Clock::time_point until)
{
    std::unique_lock lock(mutex_);
    if (is_over_)
        return false;
    const auto wait = waits_.insert(waits_.end(), Wait{socket, since});
    lock.unlock();
    const bool is_there = poll_until(socket, events, until);
    lock.lock();
    const bool is_ended = wait->is_ended;
    waits_.erase(wait);
    return is_there && !is_ended;
}

// The waiting thread closes the socket, but only after its wait has left the list.
void Waits::end(Wait &wait)
{
    wait.is_ended = true;
    shutdown(wait.socket, SHUT_RDWR);
}

void Waits::end_longest()
{
    const std::lock_guard lock(mutex_);
    Wait *longest = nullptr;
    for (Wait &wait : waits_)
        if (!wait.is_ended && (longest == nullptr || wait.since < longest->since))
            longest = &wait;
    if (longest != nullptr)
        end(*longest);
}

void Waits::end_all()
{
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    for (Wait &wait : waits_)
        end(wait);
}

std::size_t Waits::count()
{
    const std::lock_guard lock(mutex_);
    return waits_.size();
}

}  // namespace hipq::web
