// A worker's communication with the server, without blocking: it registers, claims, answers, asks
// which attempts still run, and reconnects after losses. It does not run jobs.
#pragma once

#include "hipq/client/answers.hpp"
#include "hipq/client/claimed_job.hpp"

namespace hipq::client {

struct LogEntry {
    enum class Level { info, warning, error } level;
    std::string event;
    std::string message = {};
    std::int64_t job_id = 0;
    int attempt = 0;
    std::string type = {};
};

struct WorkerOptions {
    std::string name;                 // one worker of this name at a time
    std::vector<std::string> queues;  // as "instance.queue"
    int concurrency = 1;              // how many jobs it runs at a time
    int prefetch = 0;                 // how many more it may be offered
    std::string conninfo = {};        // as for Connection
    bool pooler = false;              // connections go through a pooler: the worker does not LISTEN
    std::string capabilities = "{}";  // what job types may require of the worker, in JSON
    bool take_over = false;           // takes the name from a worker that still has it
    Loop::Milliseconds check_interval{1'000};        // how often it asks which attempts are over
    Loop::Milliseconds reply_timeout{30'000};        // time limit for an answer of the server
    std::function<void(const LogEntry &)> log = {};  // by default warnings go to stderr
};

// Events from the server to a worker.
struct Heard {
    std::function<void(std::vector<ClaimedJob>)> jobs;
    std::function<void(Attempt)> over;         // cancelled, out of time, or given to another worker
    std::function<void(const Error &)> ended;  // it cannot register, or is no longer a worker
    std::function<void()> registered = [] {};
    std::function<void()> lost = [] {};  // the connection is lost
};

class Attendance {
public:
    Attendance(Loop &loop, WorkerOptions options, std::vector<std::string> types, Heard heard)
        : loop_(loop), options_(std::move(options)), types_(std::move(types)),
          heard_(std::move(heard)), claims_(loop, session_options(true)),
          told_(loop, session_options(false)), answers_(loop, told_)
    {
    }
    Attendance(const Attendance &) = delete;
    Attendance &operator=(const Attendance &) = delete;
    ~Attendance()
    {
        for (const Loop::Timer &timer : {check_timer_, beat_timer_, poll_timer_, leave_timer_})
            loop_.cancel(timer);
    }

    void come()
    {
        claims_.open();
        told_.open();
        check_timer_ = loop_.after(options_.check_interval, [this] { check(); });
        if (options_.pooler)
            beat_timer_ = loop_.after(beat_interval, [this] { beat(); });
    }

    // This many more jobs can run: it claims them when there are some.
    void want(int free)
    {
        free_ = free;
        if (has_more_)
            claim();
    }

    // Takes no more jobs. Its jobs may still end.
    void drain()
    {
        if (std::exchange(is_draining_, true))
            return;
        loop_.cancel(poll_timer_);
        say("drain_worker", [](const Reply &) {});
    }

    // Stops being a worker when all its jobs have been answered. Calls `gone` when the server
    // knows, or after a short time if the server is away.
    void leave(std::function<void()> gone)
    {
        leave_timer_ = loop_.after(goodbye, gone);
        say("deregister_worker", [gone = std::move(gone)](const Reply &) { gone(); });
    }

    // ---- attempts: each one is watched until it is answered

    void complete(Attempt attempt, std::string result, OnTold told)
    {
        running_.erase(attempt);
        answers_.complete(attempt, std::move(result), then_claim(std::move(told)));
    }
    void fail(Attempt attempt, Failure failure, OnTold told)
    {
        running_.erase(attempt);
        answers_.fail(attempt, std::move(failure), then_claim(std::move(told)));
    }
    void release(Attempt attempt, const std::string &delay, OnTold told)
    {
        running_.erase(attempt);
        answers_.release(attempt, delay, then_claim(std::move(told)));
    }
    // No answer is needed.
    void forget(Attempt attempt) { running_.erase(attempt); }

    void progress(Attempt attempt, std::int64_t done, std::optional<std::int64_t> total,
                  const Value &message, Done then)
    {
        tell(attempt,
             "SELECT hipq.report_progress($1::bigint, $2::integer, $3::bigint, $4::bigint, "
             "$5::text)",
             {std::to_string(done), total ? Value(std::to_string(*total)) : Value(), message},
             std::move(then));
    }
    // The reply has deadline_text and seconds_left.
    void extend(Attempt attempt, const std::string &more, Done then)
    {
        tell(
            attempt,
            "SELECT " HIPQ_CLIENT_DEADLINE("extended") " FROM hipq.extend($1::bigint, $2::integer, "
                                                       "$3::text::hipq.duration) AS extended",
            {more}, std::move(then));
    }
    // The reply has batch_id.
    void current_batch(Attempt attempt, Done then)
    {
        told_.send(
            {"SELECT hipq.current_batch($1::bigint) AS batch_id", {std::to_string(attempt.id)}},
            Lost::is_sent_again, std::move(then));
    }

    std::optional<std::int64_t> id() const { return id_; }
    bool is_connected() const { return claims_.is_ready() && told_.is_ready(); }
    bool is_misled() const { return claims_.is_misled(); }
    // Whether jobs may be on their way.
    bool is_claiming() const { return is_claiming_ && claims_.is_ready(); }
    int answers_waiting() const { return answers_.waiting(); }

private:
    using Level = LogEntry::Level;
    static constexpr Loop::Milliseconds poll_interval{5'000};  // in case a notification is lost
    static constexpr Loop::Milliseconds pause{500};            // after a refused claim
    static constexpr Loop::Milliseconds beat_interval{10'000};
    static constexpr Loop::Milliseconds goodbye{3'000};

    SessionOptions session_options(bool claims)
    {
        SessionOptions options;
        options.conninfo = options_.conninfo;
        options.application_name = "hipq worker " + options_.name;
        options.reply_timeout = options_.reply_timeout;
        if (claims && options_.pooler)
            options.reply_timeout += poll_interval;
        options.on_lost = [this, claims](const std::string &why) {
            if (claims && !options_.pooler)
                is_registered_ = false;
            // Logs once, however often it tries.
            if (std::exchange(last_loss_, why) != why)
                log({Level::warning, "connection lost", why});
            heard_.lost();
        };
        options.on_connect = [this, claims] {
            last_loss_.clear();
            if (claims)
                register_if_needed();
        };
        if (claims) {
            options.on_notification = [this] {
                has_more_ = true;
                claim();
            };
        }
        return options;
    }

    void log(const LogEntry &entry) const
    {
        if (options_.log)
            options_.log(entry);
    }

    // ---- registration

    // A bound worker ends with its session, and registers again with each session.
    void register_if_needed()
    {
        if (options_.pooler && is_registered_)
            return claim();
        if (options_.pooler)
            return register_now();
        // A pooler reports a process number of its own. Its session would look healthy long after
        // the worker has gone.
        claims_.send_first({"SELECT pg_backend_pid() AS pid", {}}, [this](const Reply &reply) {
            if (!reply)
                return refuse(*reply.error);
            if (reply.rows.number(0, "pid") == claims_.backend_pid())
                return register_now();
            end({"this connection goes through a pooler, whose sessions are anybody's", "0A000",
                 "Say that it does: --poll, or the option pooler."});
        });
    }

    void register_now()
    {
        Call call("register_worker");
        call.with("name", "text", options_.name)
            .with("queues", "text[]", text_array(options_.queues))
            .with("job_types", "text[]", text_array(types_))
            .with("capacity", "integer", std::to_string(options_.concurrency))
            .with("prefetch", "integer", std::to_string(options_.prefetch))
            .with("capabilities", "jsonb", options_.capabilities)
            .with("listen", "boolean", options_.pooler ? "false" : "true")
            // An earlier registration of the same worker may still have the name.
            .with("take_over", "boolean", options_.take_over || id_ ? "true" : "false");
        claims_.send_first(call.select(" AS id"), [this](const Reply &reply) {
            if (!reply)
                return refuse(*reply.error);
            id_ = reply.rows.number(0, "id");
            is_registered_ = true;
            log({Level::info, "registered", "worker " + std::to_string(*id_)});
            if (is_draining_)
                say("drain_worker", [](const Reply &) {});
            heard_.registered();
            has_more_ = true;
            claim();
        });
    }

    // After a failover, for example, the server may not be ready for it.
    void refuse(const Error &error)
    {
        if (sqlstate::may_pass(error) && (id_ || !sqlstate::is_of_class(error, "53")))
            claims_.lose(error.what());
        else
            end(error);
    }

    void end(const Error &error)
    {
        claims_.close();
        is_claiming_ = false;
        is_draining_ = true;
        log({Level::error, "worker ended", error.what()});
        heard_.ended(error);
    }

    // ---- claiming

    // A claim that is lost on the way is not sent again: its jobs time out, because their ids are
    // not known.
    void claim()
    {
        if (is_claiming_ || is_draining_ || free_ <= 0 || !is_registered_)
            return;
        is_claiming_ = true;
        has_more_ = false;
        loop_.cancel(poll_timer_);
        const int most = std::min(free_, 10'000);
        claims_.send(
            {"SELECT *, " HIPQ_CLIENT_DEADLINE(
                 "deadline") " FROM hipq.claim($1::bigint, $2::integer, $3::text::hipq.duration)",
             {std::to_string(*id_), std::to_string(most), options_.pooler ? "5" : "0"}},
            Lost::is_an_error, [this, most](const Reply &reply) {
                is_claiming_ = false;
                if (reply) {
                    take(reply.rows, most);
                    claim_later(Loop::Milliseconds(0));
                } else if (sqlstate::may_pass(*reply.error)) {
                    claim_later(pause);
                } else {
                    end(*reply.error);
                }
            });
    }

    void take(const Result &rows, int most)
    {
        std::vector<ClaimedJob> jobs;
        for (int row = 0; row < rows.rows(); ++row) {
            jobs.push_back(claimed_job(rows, row));
            end_earlier({jobs.back().id, jobs.back().attempt});
            running_.insert({jobs.back().id, jobs.back().attempt});
        }
        has_more_ = has_more_ || rows.rows() == most;
        free_ -= rows.rows();
        if (!jobs.empty())
            heard_.jobs(std::move(jobs));
    }

    // Until the server has an answer, it counts the job as running, and claim() does not use its
    // capacity.
    OnTold then_claim(OnTold told)
    {
        return [this, told = std::move(told)](const Told &what) {
            told(what);
            has_more_ = true;
            claim();
        };
    }

    // The job comes again, so the earlier attempt of this worker is over. heartbeat_attempts(),
    // which reports by job, would not say so.
    void end_earlier(Attempt attempt)
    {
        for (auto earlier = running_.lower_bound({attempt.id, 0});
             earlier != running_.end() && *earlier < attempt;
             earlier = running_.lower_bound({attempt.id, 0}))
            end_attempt(*earlier);
    }

    // Soon, if there may be more jobs or the server waits; otherwise when it notifies.
    void claim_later(Loop::Milliseconds soon)
    {
        if (is_draining_)
            return;
        if (options_.pooler)
            has_more_ = true;
        const auto again = [this] {
            has_more_ = true;
            claim();
        };
        loop_.cancel(poll_timer_);
        poll_timer_ = loop_.after(has_more_ && claims_.is_ready() ? soon : poll_interval, again);
    }

    // ---- checks of its attempts

    void check()
    {
        check_timer_ = loop_.after(options_.check_interval, [this] { check(); });
        if (is_checking_ || running_.empty() || !told_.is_ready())
            return;
        is_checking_ = true;
        const auto asked = std::make_shared<std::set<Attempt>>(running_);
        const auto id = [](const Attempt &attempt) { return std::to_string(attempt.id); };
        const auto number = [](const Attempt &attempt) { return std::to_string(attempt.attempt); };
        told_.send({"SELECT hipq.heartbeat_attempts($1::bigint[], $2::integer[])::text AS ids",
                    {array_of(*asked, id), array_of(*asked, number)}},
                   Lost::is_an_error, [this, asked](const Reply &reply) {
                       is_checking_ = false;
                       if (!reply)
                           return;
                       const std::set<std::int64_t> running = number_set(reply.rows.text(0, "ids"));
                       for (const Attempt &attempt : *asked)
                           if (!running.contains(attempt.id))
                               end_attempt(attempt);
                   });
    }

    // It may have been answered since.
    void end_attempt(Attempt attempt)
    {
        if (running_.erase(attempt) > 0)
            heard_.over(attempt);
    }

    void beat()
    {
        beat_timer_ = loop_.after(beat_interval, [this] { beat(); });
        if (id_ && told_.is_ready())
            told_.send({"SELECT hipq.heartbeat($1::bigint)", {std::to_string(*id_)}},
                       Lost::is_an_error, [](const Reply &) {});
    }

    void tell(Attempt attempt, const char *text, std::vector<Value> values, Done then)
    {
        values.insert(values.begin(),
                      {std::to_string(attempt.id), std::to_string(attempt.attempt)});
        told_.send({text, std::move(values)}, Lost::is_sent_again,
                   [this, attempt, then = std::move(then)](const Reply &reply) {
                       if (!reply && sqlstate::attempt_is_over(*reply.error))
                           end_attempt(attempt);
                       then(reply);
                   });
    }

    void say(const std::string &function, Done done)
    {
        if (!id_) {
            loop_.soon([done = std::move(done)] { done({}); });
            return;
        }
        told_.send({"SELECT hipq." + function + "($1::bigint)", {std::to_string(*id_)}},
                   Lost::is_sent_again, std::move(done));
    }

    Loop &loop_;
    WorkerOptions options_;
    std::vector<std::string> types_;
    Heard heard_;
    Session claims_;
    Session told_;
    Answers answers_;
    std::optional<std::int64_t> id_;
    std::set<Attempt> running_;
    std::string last_loss_;
    int free_ = 0;
    bool is_registered_ = false;
    bool is_claiming_ = false;
    bool is_checking_ = false;
    bool is_draining_ = false;
    bool has_more_ = false;
    Loop::Timer check_timer_;
    Loop::Timer beat_timer_;
    Loop::Timer poll_timer_;
    Loop::Timer leave_timer_;
};

#undef HIPQ_CLIENT_DEADLINE

}  // namespace hipq::client
