// An event loop: waits for descriptors, times and other threads, and calls their functions. All
// communication of a worker with the server happens in one thread.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

namespace hipq::client {

class Loop {
public:
    using Clock = std::chrono::steady_clock;
    using Milliseconds = std::chrono::milliseconds;
    using Timer = std::pair<Clock::time_point, unsigned long>;

    Loop()
    {
        if (::pipe(wake_.data()) != 0)
            throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
        for (const int end : wake_) {
            ::fcntl(end, F_SETFD, FD_CLOEXEC);
            ::fcntl(end, F_SETFL, O_NONBLOCK);
        }
        watch(wake_[0], POLLIN, [this](short) { run_posted(); });
    }
    Loop(const Loop &) = delete;
    Loop &operator=(const Loop &) = delete;
    ~Loop()
    {
        ::close(wake_[0]);
        ::close(wake_[1]);
    }

    // Calls the function when one of the events (of poll) occurs, or the descriptor is closed;
    // replaces an earlier function for this descriptor.
    void watch(int descriptor, short events, std::function<void(short)> call)
    {
        watches_[descriptor] = {events, std::move(call), ++last_};
    }
    void forget(int descriptor) { watches_.erase(descriptor); }

    // Calls once, after this time.
    Timer after(Milliseconds delay, std::function<void()> call)
    {
        const Timer timer(Clock::now() + delay, ++last_);
        timers_.emplace(timer, std::move(call));
        return timer;
    }
    Timer soon(std::function<void()> call) { return after(Milliseconds(0), std::move(call)); }
    void cancel(const Timer &timer) { timers_.erase(timer); }

    // Makes the loop's thread call a function; for other threads.
    void post(std::function<void()> call)
    {
        const std::scoped_lock lock(mutex_);
        posted_.push_back(std::move(call));
        // A full pipe wakes the loop anyway.
        [[maybe_unused]] const ssize_t written = ::write(wake_[1], "", 1);
    }

    // Waits for the next event, and calls its function.
    void turn()
    {
        std::vector<pollfd> descriptors;
        std::vector<unsigned long> numbers;
        for (const auto &[descriptor, watched] : watches_) {
            descriptors.push_back({descriptor, watched.events, 0});
            numbers.push_back(watched.number);
        }
        const int count = ::poll(descriptors.data(), descriptors.size(), wait_time());
        if (count < 0 && errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "cannot wait for events");
        for (std::size_t i = 0; count > 0 && i < descriptors.size(); ++i)
            if (descriptors[i].revents != 0)
                call_watch(descriptors[i].fd, numbers[i], descriptors[i].revents);
        call_timers();
    }

private:
    struct Watch {
        short events;
        std::function<void(short)> call;
        unsigned long number;  // a later one has another number
    };

    int wait_time() const
    {
        if (timers_.empty())
            return -1;
        const auto left = timers_.begin()->first.first - Clock::now();
        const auto rounded = std::chrono::ceil<Milliseconds>(left).count();
        return static_cast<int>(std::clamp<long>(rounded, 0, 60'000));
    }

    // Skips functions that an earlier call of this turn has removed or replaced.
    void call_watch(int descriptor, unsigned long number, short events)
    {
        const auto found = watches_.find(descriptor);
        if (found == watches_.end() || found->second.number != number)
            return;
        const auto call = found->second.call;
        call(events);
    }

    // Calls the timers that are due now, but not the timers that these add.
    void call_timers()
    {
        const Timer until(Clock::now(), last_);
        while (!timers_.empty() && timers_.begin()->first <= until) {
            const auto call = std::move(timers_.begin()->second);
            timers_.erase(timers_.begin());
            call();
        }
    }

    void run_posted()
    {
        std::array<char, 256> bytes{};
        while (::read(wake_[0], bytes.data(), bytes.size()) > 0) {
        }
        std::vector<std::function<void()>> posted;
        {
            const std::scoped_lock lock(mutex_);
            posted.swap(posted_);
        }
        for (const auto &call : posted)
            call();
    }

    std::map<int, Watch> watches_;
    std::map<Timer, std::function<void()>> timers_;
    unsigned long last_ = 0;
    std::array<int, 2> wake_{};
    std::mutex mutex_;
    std::vector<std::function<void()>> posted_;
};

}  // namespace hipq::client
