// The threads that wait for what a client sends or takes: how long at most, and which one gives way
// when a thread is needed.
#pragma once

#include <chrono>
#include <list>
#include <mutex>

namespace hipq::web {

class Waits {
public:
    using Clock = std::chrono::steady_clock;

    // Waits until a socket can be read or written, as events of poll() say, for a client that has
    // been waited for since then. False: it is too late, or the thread was needed.
    bool wait(int socket, short events, Clock::time_point since, Clock::time_point until);

    // Shuts the connection down whose client has been waited for longest.
    void end_longest();

    // Ends all waits, also those that begin later.
    void end_all();

    std::size_t count();

private:
    struct Wait {
        int socket;
        Clock::time_point since;
        bool is_ended = false;
    };

    static void end(Wait &wait);

    std::mutex mutex_;
    std::list<Wait> waits_;
    bool is_over_ = false;
};

}  // namespace hipq::web
