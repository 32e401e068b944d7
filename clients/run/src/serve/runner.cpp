// Connects the parts: jobs go from the server to programs, and their results go back.
#include "serve/runner.hpp"

#include <sys/wait.h>

#include "batch/batch.hpp"
#include "single/single.hpp"

namespace hipq::run {

namespace {

using client::Told;
using Clock = Loop::Clock;

// How long undelivered answers delay an immediate exit of hipq-run; and how long a program may run
// beyond its time while no server can stop it.
constexpr Loop::Milliseconds patience{5'000};
constexpr Loop::Milliseconds look_interval{1'000};

Loop::Milliseconds milliseconds(Seconds seconds)
{
    return std::chrono::ceil<Loop::Milliseconds>(seconds);
}

client::WorkerOptions worker_options(const Options &options, const Log &log)
{
    client::WorkerOptions worker;
    worker.name = options.name;
    worker.queues = options.queues;
    worker.concurrency = options.jobs;
    worker.prefetch = options.prefetch;
    worker.conninfo = options.conninfo;
    worker.pooler = options.poll;
    worker.capabilities = options.capabilities;
    worker.take_over = options.take_over;
    worker.log = log;
    return worker;
}

std::unique_ptr<Executor> make_executor(Loop &loop, Guard &guard, const Options &options,
                                        Reports reports)
{
    ExecutorOptions what{options.command, options.jobs, milliseconds(options.kill_after),
                         options.failure_is_final, static_cast<std::size_t>(options.max_output)};
    if (options.batch)
        return std::make_unique<Batch>(loop, guard, std::move(what), std::move(reports));
    return std::make_unique<Single>(loop, guard, std::move(what), std::move(reports));
}

}  // namespace

Runner::Runner(Options options, Guard &guard)
    : options_(std::move(options)), log_(options_.log_is_json, options_.log_level), notify_(loop_),
      tracing_(loop_, options_, log_), guard_(guard),
      executor_(make_executor(loop_, guard, options_, reports())),
      attendance_(loop_, worker_options(options_, log_), options_.types, heard()),
      signals_(
          loop_, [this] { on_signal(); },
          [this] {
              if (::waitpid(guard_.pid(), nullptr, WNOHANG) == guard_.pid())
                  guard_.restart();
              executor_->look();
          })
{
    if (!options_.metrics.empty())
        http_.emplace(loop_, options_.metrics, [this] {
            return counts_.text({executor_->running(), attendance_.is_connected(),
                                 attendance_.answers_waiting(), tracing_.exported(),
                                 tracing_.dropped()});
        });
}

// ---- its life cycle

int Runner::run()
{
    attendance_.come();
    look_around();
    while (!has_left_) {
        loop_.turn();
        step();
    }
    tracing_.finish();
    return exit_code_;
}

// After each turn: starts what has become possible.
void Runner::step()
{
    if (is_draining_)
        leave_if_done();
    else
        attendance_.want(executor_->free());
}

// Once a second: checks what no event reports.
void Runner::look_around()
{
    if (executor_->running() > 0)
        last_busy_ = Clock::now();
    end_if_idle();
    end_those_out_of_time();
    loop_.after(look_interval, [this] { look_around(); });
}

void Runner::end_if_idle()
{
    const bool is_idle = Clock::now() - last_busy_ >= options_.idle;
    if (options_.drain && has_registered_ && attendance_.is_connected() && is_idle && !is_draining_)
        begin_drain("there are no more jobs");
}

// While the server is there, it reports which attempts are over.
void Runner::end_those_out_of_time()
{
    if (attendance_.is_connected())
        return;
    for (const auto &[attempt, running] : running_)
        if (running.job.times_out && *running.job.times_out + patience < Clock::now()) {
            attendance_.forget(attempt);
            executor_->over(attempt);
        }
}

void Runner::on_signal()
{
    if (is_draining_)
        end_children("a second signal has come");
    else
        begin_drain("a signal has come");
}

void Runner::begin_drain(const std::string &why)
{
    if (std::exchange(is_draining_, true))
        return;
    log(Level::info, "draining", why);
    notify_.tell("STOPPING=1\nSTATUS=draining");
    attendance_.drain();
    if (options_.grace.count() > 0)
        loop_.after(milliseconds(options_.grace), [this] { end_children("the grace is over"); });
}

// The last step: ends running programs, and drops answers that cannot be delivered by then.
void Runner::end_children(const std::string &why)
{
    if (std::exchange(is_ending_, true))
        return;
    if (executor_->running() > 0)
        log(Level::warning, "ending programs", why);
    executor_->end_all();
    loop_.after(milliseconds(options_.kill_after) + patience, [this] {
        if (is_leaving_)
            return;
        log(Level::error, "answers not given",
            std::to_string(attendance_.answers_waiting()) + " of them");
        exit_code_ = exit_failure;
        has_left_ = true;
    });
}

void Runner::leave_if_done()
{
    if (is_leaving_ || executor_->running() > 0 || attendance_.is_claiming() ||
        attendance_.answers_waiting() > 0)
        return;
    executor_->finish();
    if (!executor_->has_finished())
        return;
    is_leaving_ = true;
    attendance_.leave([this] { has_left_ = true; });
}

// ---- events from the server

client::Heard Runner::heard()
{
    client::Heard calls;
    calls.jobs = [this](const std::vector<ClaimedJob> &jobs) { take(jobs); };
    calls.over = [this](Attempt attempt) {
        const auto found = running_.find(attempt);
        if (found == running_.end())
            return;
        const auto times_out = found->second.job.times_out;
        const bool is_late = times_out && *times_out <= Clock::now();
        found->second.over_because =
            is_late ? "it has timed out" : "it was cancelled, or is somebody else's";
        log(Level::warning, "job over", found->second.job, found->second.over_because);
        executor_->over(attempt);
    };
    calls.ended = [this](const client::Error &error) { on_ended(error); };
    calls.registered = [this] {
        if (!std::exchange(has_registered_, true))
            last_busy_ = Clock::now();
        notify_.tell("READY=1\nSTATUS=working");
    };
    calls.lost = [this] { on_lost(); };
    return calls;
}

void Runner::take(const std::vector<ClaimedJob> &jobs)
{
    last_busy_ = Clock::now();
    for (ClaimedJob job : jobs) {
        Running &running = running_.try_emplace(name_of(job), Running{job}).first->second;
        if (is_draining_) {
            answer(job, {Ending::Kind::release, "0"});
            continue;
        }
        running.span = tracing_.begin(job);
        executor_->start(job);
    }
    if (options_.once && !jobs.empty())
        begin_drain("one job was to be run");
}

void Runner::on_ended(const client::Error &error)
{
    if (!error.hint().empty())
        log(Level::error, "hint", error.hint());
    exit_code_ = exit_failure;
    begin_drain("it is no worker");
}

void Runner::on_lost()
{
    counts_.reconnected();
    notify_.tell("STATUS=waiting for the server");
    if (has_registered_)
        return;
    if (attendance_.is_misled())
        exit_code_ = exit_usage;
    else if (options_.once || options_.drain)
        exit_code_ = exit_unavailable;
    has_left_ = exit_code_ != exit_done;
}

// ---- messages of programs

Reports Runner::reports()
{
    Reports calls;
    calls.ended = [this](const ClaimedJob &job, const Ending &ending) { answer(job, ending); };
    calls.said = [this](Attempt attempt, const Said &said) { say(attempt, said); };
    calls.log = [this](const LogEntry &entry) { log_(entry); };
    return calls;
}

void Runner::answer(const ClaimedJob &job, const Ending &ending)
{
    Tracing::stop(running_.at(name_of(job)).span, ending);
    switch (ending.kind) {
    case Ending::Kind::complete:
        return complete(job, ending.text);
    case Ending::Kind::fail:
        return fail(job, {ending.text, ending.retriable, ending.retry_after});
    case Ending::Kind::release:
        return release(job, ending.text);
    case Ending::Kind::nothing:
        attendance_.forget(name_of(job));
        return confirm(job, "lost", {Told::How::over, "", nullptr});
    }
}

// If the server refuses a result, the job fails.
void Runner::complete(const ClaimedJob &job, const std::string &result)
{
    attendance_.complete(name_of(job), result, [this, job](const Told &told) {
        if (told.how == Told::How::refused)
            fail(job, {told.error->what(), false});
        else
            confirm(job, "succeeded", told);
    });
}

void Runner::fail(const ClaimedJob &job, const client::Failure &failure)
{
    attendance_.fail(name_of(job), failure, [this, job, failure](const Told &told) {
        // Ignores an invalid delay of a program.
        if (told.how == Told::How::refused && failure.retry_after) {
            log(Level::warning, "answer refused", job, told.error->what());
            return fail(job, {failure.error, failure.retriable});
        }
        if (told.how == Told::How::counted)
            log(told.state == "retry" ? Level::warning : Level::error, "job failed", job,
                failure.error);
        confirm(job, "failed", told, failure.error);
    });
}

void Runner::release(const ClaimedJob &job, const std::string &delay)
{
    attendance_.release(name_of(job), delay, [this, job](const Told &told) {
        // An invalid delay of a program.
        if (told.how == Told::How::refused)
            fail(job, {told.error->what()});
        else
            confirm(job, "released", told);
    });
}

// The server has confirmed the answer.
void Runner::confirm(const ClaimedJob &job, const std::string &how, const Told &told,
                     const std::string &error)
{
    const auto found = running_.find(name_of(job));
    const std::chrono::duration<double> took = Clock::now() - found->second.since;
    end_span(found->second, how, told, error);
    running_.erase(found);
    counts_.ended(told.how == Told::How::counted ? how : "lost", took.count());
    log_end(job, how, told);
}

void Runner::log_end(const ClaimedJob &job, const std::string &how, const Told &told) const
{
    if (told.how == Told::How::refused)
        log(Level::error, "answer refused", job, told.error->what());
    else if (told.how == Told::How::over && how != "lost")
        log(Level::warning, "answer too late", job,
            "the attempt is over, or the server had the answer");
    else if (how == "succeeded")
        log(Level::info, "job done", job);
}

void Runner::end_span(Running &running, const std::string &how, const Told &told,
                      const std::string &error)
{
    if (told.how == Told::How::refused)
        tracing_.end(running.span, "lost", told.error->what());
    else if (told.how == Told::How::over)
        tracing_.end(running.span, "lost", running.over_because);
    else
        tracing_.end(running.span, how, how == "failed" ? std::optional(error) : std::nullopt);
}

// Of several messages that a program sends at once, the server gets the last one.
void Runner::say(Attempt attempt, const Said &said)
{
    const auto found = running_.find(attempt);
    if (found == running_.end())
        return;
    found->second.next = said;
    if (!found->second.is_telling)
        say_next(attempt);
}

void Runner::say_next(Attempt attempt)
{
    const auto found = running_.find(attempt);
    if (found == running_.end())
        return;
    const std::optional<Said> said = std::exchange(found->second.next, std::nullopt);
    found->second.is_telling = said.has_value();
    if (!said)
        return;
    const client::Done then = [this, attempt, said](const client::Reply &reply) {
        on_said(attempt, *said, reply);
        say_next(attempt);
    };
    if (said->more_time)
        attendance_.extend(attempt, *said->more_time, then);
    else
        attendance_.progress(attempt, said->done, said->total, said->message, then);
}

void Runner::on_said(Attempt attempt, const Said &said, const client::Reply &reply)
{
    const auto found = running_.find(attempt);
    if (found == running_.end())
        return;
    if (reply && said.more_time)
        found->second.job.times_out = client::time_out_of(reply.rows, 0);
    else if (!reply && !client::sqlstate::attempt_is_over(*reply.error))
        log(Level::warning, "progress refused", found->second.job, reply.error->what());
}

void Runner::log(Level level, const std::string &event, const std::string &message) const
{
    log_({level, event, message});
}

void Runner::log(Level level, const std::string &event, const ClaimedJob &job,
                 const std::string &message) const
{
    log_({level, event, message, job.id, job.attempt, job.type});
}

}  // namespace hipq::run
