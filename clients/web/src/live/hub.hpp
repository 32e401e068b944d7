// Live figures: one statement a second for each role with viewers, none without viewers.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "sessions/session.hpp"

namespace hipq::web {

// An event for a viewer.
struct News {
    enum class Kind { overview, nothing, end };
    Kind kind;
    std::string text;  // data of the event; at the end: the reason
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
    // Whether it has no viewers.
    bool remove(const std::shared_ptr<Session> &session);
    // Makes the viewers check at once whether their sessions have ended.
    void nudge() { change_.notify_all(); }

    // Waits for the event after the last seen one, and stores its number in seen.
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
    std::map<std::string, std::string> queues_;  // as last sent
    std::uint64_t number_ = 0;                   // of the event; 0: none yet
    std::string whole_;
    std::string changes_;  // since the previous event
    std::string alerts_;   // a member of the event, with its comma; empty: not read yet
    Clock::time_point alerts_read_;
    std::string trouble_;  // why there are no figures, as last logged
    bool is_stopped_ = false;
    std::thread thread_;  // last: the members that it uses exist before it
};

class Hub {
public:
    explicit Hub(Sessions &sessions) : sessions_(sessions) {}

    // The figures for a session. Null: there are no more.
    std::shared_ptr<Poller> join(const std::shared_ptr<Session> &session);
    void leave(const std::shared_ptr<Session> &session);
    // The place of a viewer, to be kept until it leaves. Null: the limit is reached.
    Places::Place place_for(const Session &session) { return places_.take(session.holders); }

    // Makes all viewers check whether their sessions have ended.
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
