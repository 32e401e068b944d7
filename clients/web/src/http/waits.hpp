// The threads that wait for clients to send or receive: their time limits, and which one gives way
// when a thread is needed.
#pragma once

#include <chrono>
#include <list>
#include <mutex>

namespace hipq::web {

class Waits {
public:
    using Clock = std::chrono::steady_clock;

    // Waits until a socket can be read or written (events as for poll()), for a client for which
    // the thread has waited since then. False: too late, or the thread was needed.
    bool wait(int socket, short events, Clock::time_point since, Clock::time_point until);

    // Shuts down the connection of the client with the longest wait.
    void end_longest();

    // Ends all waits, and also later ones.
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
