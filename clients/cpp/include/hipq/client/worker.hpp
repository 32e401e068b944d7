// A worker: claims jobs, runs their handlers in threads, and reports the results.
#pragma once

#include "hipq/client/handlers.hpp"
#include "hipq/client/signals.hpp"

#include <iostream>
#include <thread>

namespace hipq::client {

inline void log_to_stderr(const LogEntry &entry)
{
    if (entry.level == LogEntry::Level::info)
        return;
    std::string line = "hipq worker: " + entry.event;
    if (entry.job_id != 0)
        line += ": job " + std::to_string(entry.job_id);
    if (!entry.message.empty())
        line += ": " + entry.message;
    std::cerr << line + "\n";
}

class Worker {
public:
    explicit Worker(WorkerOptions options) : options_(std::move(options))
    {
        if (!options_.log)
            options_.log = log_to_stderr;
    }
    Worker(const Worker &) = delete;
    Worker &operator=(const Worker &) = delete;
    ~Worker() = default;

    // Registers a function that takes a Job & for a job type. Its return value is the result.
    template <typename Function>
    Worker &job(const std::string &type, Function function)
    {
        return add(type, {handler_of(std::move(function)), {}, 1});
    }
    // ... a function that takes the job's data as its own type, and a Job &.
    template <typename Data, typename Function>
    Worker &job(const std::string &type, Function function)
    {
        return add(type, {typed_handler_of<Data>(std::move(function)), {}, 1});
    }
    // Registers a function that takes Jobs for a job type, to run many at a time. It returns
    // nothing, or for each job in this order its result or how it has ended.
    template <typename Function>
    Worker &batch(const std::string &type, Function function, std::size_t most = 100)
    {
        return add(type, {{}, batch_handler_of(std::move(function)), most});
    }
    // ... a function that takes a vector of Typed<Data>. Jobs with unreadable data fail for good.
    template <typename Data, typename Function>
    Worker &batch(const std::string &type, Function function, std::size_t most = 100)
    {
        return add(type, {{}, typed_batch_handler_of<Data>(std::move(function)), most});
    }
    // Wraps handlers; the first one is the outermost.
    Worker &use(Middleware middleware)
    {
        middleware_.push_back(std::move(middleware));
        return *this;
    }

    // Works until stop() is called, or SIGTERM or SIGINT arrives: then it takes no more jobs, and
    // running jobs end. A second signal gives them back. Throws if the worker cannot register or is
    // replaced.
    void run(bool signals = true)
    {
        if (handlers_.empty())
            throw std::logic_error("the worker has no handler: register one with job() or batch()");
        std::optional<Signals> stopping;
        if (signals)
            stopping.emplace(loop_, [this] { is_stopping_ ? give_all_back() : begin_stop(); });
        attendance_ = std::make_shared<Attendance>(loop_, options_, types(), heard());
        attendance_->come();
        want_more();
        while (!has_left_) {
            loop_.turn();
            leave_if_done();
        }
        attendance_.reset();
        // Handlers whose attempts are over may still run.
        while (!threads_.empty())
            loop_.turn();
        if (failure_)
            throw *failure_;
    }

    // Takes no more jobs; run() returns when the running jobs have ended. From any thread.
    void stop()
    {
        loop_.post([this] { begin_stop(); });
    }
    // The loop in which the worker waits; others may share it, such as an OtlpExporter.
    Loop &loop() { return loop_; }
    // Gives back the running jobs, uncharged, and tells their handlers. From any thread.
    void give_back()
    {
        loop_.post([this] { give_all_back(); });
    }

private:
    using Level = LogEntry::Level;
    static constexpr Loop::Milliseconds goodbye{3'000};

    struct Registered {
        Handler handler;
        BatchHandler batch;  // replaces the handler
        std::size_t most;    // jobs per call
    };
    using SharedJobs = std::vector<std::shared_ptr<Job>>;

    Worker &add(const std::string &type, Registered handler)
    {
        if (handler.most == 0)
            throw std::logic_error("a batch of job type \"" + type + "\" has at least one job");
        if (!handlers_.emplace(type, std::move(handler)).second)
            throw std::logic_error("job type \"" + type + "\" has a handler already");
        return *this;
    }

    std::vector<std::string> types() const
    {
        std::vector<std::string> names;
        for (const auto &[type, handler] : handlers_)
            names.push_back(type);
        return names;
    }

    Heard heard()
    {
        Heard calls;
        calls.jobs = [this](std::vector<ClaimedJob> jobs) { start_all(std::move(jobs)); };
        calls.over = [this](Attempt attempt) { abandon(attempt, Nothing{}); };
        calls.ended = [this](const Error &error) {
            failure_ = error;
            begin_stop();
        };
        return calls;
    }

    // ---- running

    // Each job in its own call, or those of a type together.
    void start_all(std::vector<ClaimedJob> claimed)
    {
        std::map<std::string, SharedJobs> by_type;
        for (ClaimedJob &one : claimed) {
            const auto job = std::make_shared<Job>(loop_, attendance_, std::move(one));
            SharedJobs &some = by_type[job->type()];
            some.push_back(job);
            if (some.size() == handlers_.at(job->type()).most)
                start(std::exchange(some, {}));
        }
        for (const auto &[type, rest] : by_type)
            if (!rest.empty())
                start(rest);
    }

    // A thread for each call: they are few, and some of them hang.
    void start(const SharedJobs &jobs)
    {
        for (const auto &job : jobs) {
            if (is_giving_back_)
                answer(*job, GivenBack{});
            else
                running_[job->name()] = job;
        }
        if (is_giving_back_)
            return;
        std::jthread thread([this, jobs] {
            const std::vector<Ending> endings = run(jobs);
            loop_.post([this, jobs, endings] { finish(jobs, endings); });
        });
        threads_.emplace(jobs.front()->name(), std::move(thread));
    }

    std::vector<Ending> run(const SharedJobs &jobs) const
    {
        const Registered &handler = handlers_.at(jobs.front()->type());
        if (!handler.batch)
            return {run_handler(handler.handler, middleware_, *jobs.front())};
        Jobs references;
        for (const auto &job : jobs)
            references.emplace_back(*job);
        return run_handler(handler.batch, references);
    }

    void finish(const SharedJobs &jobs, const std::vector<Ending> &endings)
    {
        threads_.erase(jobs.front()->name());
        for (std::size_t i = 0; i < jobs.size(); ++i)
            if (running_.erase(jobs[i]->name()) > 0)
                answer(*jobs[i], endings[i]);
        want_more();
    }

    // Its capacity is free as soon as the attempt is over, whether or not its handler stops.
    void abandon(Attempt attempt, const Ending &ending)
    {
        const auto found = running_.find(attempt);
        if (found == running_.end())
            return;
        const std::shared_ptr<Job> job = found->second;
        running_.erase(found);
        job->end();
        answer(*job, ending);
        want_more();
    }

    void want_more()
    {
        if (!is_stopping_ && attendance_)
            attendance_->want(options_.concurrency - static_cast<int>(running_.size()));
    }

    // ---- answering

    void answer(const Job &job, const Ending &ending)
    {
        const OnTold told = [this, id = job.name(), type = job.type()](const Told &what) {
            if (what.how != Told::How::counted)
                log_loss(id, type, what);
        };
        if (const auto *result = std::get_if<Json>(&ending))
            complete(job, *result, told);
        else if (const auto *failure = std::get_if<Failure>(&ending))
            fail(job, *failure, told);
        else if (const auto *back = std::get_if<GivenBack>(&ending))
            attendance_->release(job.name(), back->delay, or_failed(job, told));
        else
            told({Told::How::over, "", nullptr});
    }

    void complete(const Job &job, const Json &result, const OnTold &told)
    {
        const std::string text = result.dump(-1, ' ', false, Json::error_handler_t::replace);
        attendance_->complete(job.name(), text, or_failed(job, told));
    }

    // If the server refuses a result or a delay, the job fails.
    OnTold or_failed(const Job &job, const OnTold &told)
    {
        return [this, name = job.name(), told](const Told &what) {
            if (what.how == Told::How::refused)
                attendance_->fail(name, {what.error->what(), false}, told);
            else
                told(what);
        };
    }

    // A delay that the server refuses is ignored.
    void fail(const Job &job, Failure failure, const OnTold &told)
    {
        if (failure.error.empty())
            failure.error = "the handler failed";
        options_.log(
            {Level::warning, "job failed", failure.error, job.id(), job.attempt(), job.type()});
        attendance_->fail(job.name(), failure,
                          [=, this, name = job.name(), type = job.type()](const Told &what) {
                              if (what.how != Told::How::refused || !failure.retry_after)
                                  return told(what);
                              log_loss(name, type, what);
                              attendance_->fail(name, {failure.error, failure.retriable}, told);
                          });
    }

    void log_loss(Attempt attempt, const std::string &type, const Told &what)
    {
        const bool is_over = what.how == Told::How::over;
        options_.log(
            {Level::warning, is_over ? "job lost" : "answer refused",
             is_over ? AttemptOver(attempt.id, attempt.attempt).what() : what.error->what(),
             attempt.id, attempt.attempt, type});
    }

    // ---- stopping

    void begin_stop()
    {
        if (std::exchange(is_stopping_, true))
            return;
        options_.log({Level::info, "draining"});
        if (attendance_ != nullptr)
            attendance_->drain();
    }

    void give_all_back()
    {
        is_giving_back_ = true;
        begin_stop();
        while (!running_.empty())
            abandon(running_.begin()->first, GivenBack{});
        // Answers that cannot be delivered by then are dropped.
        loop_.after(goodbye, [this] { has_left_ = true; });
    }

    void leave_if_done()
    {
        if (!is_stopping_ || is_leaving_ || !running_.empty() || attendance_->is_claiming() ||
            attendance_->answers_waiting() > 0)
            return;
        is_leaving_ = true;
        attendance_->leave([this] { has_left_ = true; });
    }

    Loop loop_;
    WorkerOptions options_;
    std::map<std::string, Registered> handlers_;
    std::vector<Middleware> middleware_;
    std::shared_ptr<Attendance> attendance_;
    std::map<Attempt, std::shared_ptr<Job>> running_;
    std::map<Attempt, std::jthread> threads_;
    std::optional<Error> failure_;
    bool is_stopping_ = false;
    bool is_giving_back_ = false;
    bool is_leaving_ = false;
    bool has_left_ = false;
};

}  // namespace hipq::client
