// Live figures: one statement a second for each role that somebody looks at, none when nobody does.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "sessions/session.hpp"

namespace hipq::web {

// What a viewer is sent.
struct News {
    enum class Kind { overview, nothing, end };
    Kind kind;
    std::string text;  // the data of the event; at the end: why
};

// Reads the overview of one role as long as it has viewers.
class Poller {
public:
    explicit Poller(Sessions &sessions) : sessions_(sessions), thread_([this] { run(); }) {}
    ~Poller();
    void stop();
    Poller(const Poller &) = delete;
    Poller &operator=(const Poller &) = delete;

    void add(const std::shared_ptr<Session> &session);
    // Whether nobody is left.
    bool remove(const std::shared_ptr<Session> &session);
    // Has the viewers look at once whether their sessions have ended.
    void nudge() { change_.notify_all(); }

    // Waits for what comes after the event seen last, and says in seen what that is now.
    News wait(const Session &session, std::uint64_t &seen);

private:
    void run();
    void poll(const Session &session);
    std::string alerts(const Session &session);
    std::shared_ptr<Session> somebody();

    Sessions &sessions_;
    std::mutex mutex_;
    std::condition_variable change_;
    std::vector<std::shared_ptr<Session>> viewers_;
    std::map<std::string, std::string> queues_;  // as they were sent last
    std::uint64_t number_ = 0;                   // of the event; 0: there was none yet
    std::string whole_;
    std::string changes_;  // since the event before
    std::string alerts_;   // a member of the event, with its comma; empty: not read yet
    Clock::time_point alerts_read_;
    std::string trouble_;  // why there are no figures, as it was logged last
    bool is_stopped_ = false;
    std::thread thread_;  // last: what it uses is there before it
};

class Hub {
public:
    explicit Hub(Sessions &sessions) : sessions_(sessions) {}

    // The figures for a session. Null: there are none any more.
    std::shared_ptr<Poller> join(const std::shared_ptr<Session> &session);
    void leave(const std::shared_ptr<Session> &session);
    // The place of a viewer, to be kept until it leaves. Null: there are as many as there may be.
    Places::Place place_for(const Session &session) { return places_.take(session.holders); }

    // Has all viewers look whether their sessions have ended.
    void nudge();
    void stop();
    bool is_stopped() const { return is_stopped_; }

private:
    Sessions &sessions_;
    Places places_{200, 100};
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Poller>> pollers_;  // by role
    std::atomic<bool> is_stopped_{false};
};

}  // namespace hipq::web
