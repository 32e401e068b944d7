// Connects the parts: jobs go from the server to programs, and their results go back.
#pragma once

#include "child/executor.hpp"
#include "log/log.hpp"
#include "options/options.hpp"
#include "serve/tracing.hpp"
#include "system/counts.hpp"
#include "system/http.hpp"
#include "system/notify.hpp"
#include "system/signals.hpp"

namespace hipq::run {

// Exit codes of hipq-run, as in sysexits.h.
inline constexpr int exit_done = 0;
inline constexpr int exit_failure = 1;       // no longer a worker, or answers were lost
inline constexpr int exit_usage = 64;        // a wrong option, file or address
inline constexpr int exit_unavailable = 69;  // --once, --drain: no server

class Runner {
public:
    // The guard is made first: it shares no descriptor with anything that comes later.
    Runner(Options options, Guard &guard);

    // Works until it is told to stop, or its work is done. Returns the exit code.
    int run();

private:
    // Facts about a job that its executor does not know.
    struct Running {
        ClaimedJob job;
        Loop::Clock::time_point since = Loop::Clock::now();
        std::optional<client::Span> span = {};
        std::optional<Said> next = {};  // to be sent after the previous one
        bool is_telling = false;
        std::string over_because = "the attempt is over";
    };

    // ---- its life cycle
    void step();
    void look_around();
    void on_signal();
    void begin_drain(const std::string &why);
    void end_children(const std::string &why);
    void leave_if_done();
    void end_if_idle();
    void end_those_out_of_time();

    // ---- events from the server
    client::Heard heard();
    void take(const std::vector<ClaimedJob> &jobs);
    void on_ended(const client::Error &error);
    void on_lost();

    // ---- messages of programs
    Reports reports();
    void answer(const ClaimedJob &job, const Ending &ending);
    void complete(const ClaimedJob &job, const std::string &result);
    void fail(const ClaimedJob &job, const client::Failure &failure);
    void release(const ClaimedJob &job, const std::string &delay);
    void confirm(const ClaimedJob &job, const std::string &how, const client::Told &told,
                 const std::string &error = {});
    void log_end(const ClaimedJob &job, const std::string &how, const client::Told &told) const;
    void end_span(Running &running, const std::string &how, const client::Told &told,
                  const std::string &error);
    void say(Attempt attempt, const Said &said);
    void say_next(Attempt attempt);
    void on_said(Attempt attempt, const Said &said, const client::Reply &reply);

    void log(Level level, const std::string &event, const std::string &message = {}) const;
    void log(Level level, const std::string &event, const ClaimedJob &job,
             const std::string &message = {}) const;

    Options options_;
    Log log_;
    Loop loop_;
    Notify notify_;
    Counts counts_;
    Tracing tracing_;
    Guard &guard_;
    std::unique_ptr<Executor> executor_;
    client::Attendance attendance_;
    std::optional<Http> http_;
    Signals signals_;
    std::map<Attempt, Running> running_;
    Loop::Clock::time_point last_busy_ = Loop::Clock::now();
    int exit_code_ = exit_done;
    bool has_registered_ = false;
    bool is_draining_ = false;
    bool is_ending_ = false;
    bool is_leaving_ = false;
    bool has_left_ = false;
};

}  // namespace hipq::run
