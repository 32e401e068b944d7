// A job as its handler sees it: one attempt, with a token that stops when the attempt is over.
#pragma once

#include "hipq/client/attendance.hpp"
#include "hipq/client/batch.hpp"

#include <future>
#include <stop_token>

namespace hipq::client {

// Handlers run in their own threads; messages of a job go through the worker's loop, and wait for
// the server.
class Job {
public:
    Job(Loop &loop, std::weak_ptr<Attendance> attendance, ClaimedJob claimed)
        : data(Json::parse(claimed.data, nullptr, false)), loop_(loop),
          attendance_(std::move(attendance)), claimed_(std::move(claimed))
    {
    }
    Job(const Job &) = delete;
    Job &operator=(const Job &) = delete;
    ~Job() = default;

    std::int64_t id() const { return claimed_.id; }
    // The number of the attempt: 1 is the first.
    int attempt() const { return claimed_.attempt; }
    const std::string &queue() const { return claimed_.queue; }
    const std::string &type() const { return claimed_.type; }
    const std::optional<std::string> &key() const { return claimed_.key; }
    // The deadline of the attempt when it was claimed.
    const std::string &deadline() const { return claimed_.deadline; }
    int retry_count() const { return claimed_.retry_count; }
    int max_retries() const { return claimed_.max_retries; }
    const std::string &scheduled_run_time() const { return claimed_.scheduled_run_time; }
    const std::string &created_time() const { return claimed_.created_time; }
    const std::optional<std::int64_t> &original_job_id() const { return claimed_.original_job_id; }
    // The trace of the job; if its spans are exported, the span of the attempt (tracing.hpp).
    const std::optional<std::string> &traceparent() const { return claimed_.traceparent; }
    void set_traceparent(const std::string &traceparent) { claimed_.traceparent = traceparent; }
    const ClaimedJob &claimed() const { return claimed_; }

    // Discarded if it has a number that no double can hold; claimed().data has the text.
    Json data;

    // Requests a stop when the attempt is over: its result is not needed.
    std::stop_token stop() const { return stop_.get_token(); }
    bool is_over() const { return stop_.stop_requested(); }

    // Reports the progress of the job; the view hipq.progress shows it at once. Throws AttemptOver.
    void progress(std::int64_t done, std::optional<std::int64_t> total = {}, Value message = {})
    {
        ask([=, name = name()](Attendance &attendance, Done then) {
            attendance.progress(name, done, total, message, std::move(then));
        });
    }

    // Gives the attempt at least this much time from now; returns the deadline. Throws AttemptOver.
    std::string extend(const std::string &more)
    {
        return ask([more, name = name()](Attendance &attendance, Done then) {
                   attendance.extend(name, more, std::move(then));
               })
            .text(0, "deadline_text");
    }

    // Returns the batch that the job belongs to, or comes after, as a callback does; nothing: there
    // is none. The worker's role requires the right `read`. Throws AttemptOver.
    std::optional<Batch> batch()
    {
        return detail::batch_of(ask([name = name()](Attendance &attendance, Done then) {
            attendance.current_batch(name, std::move(then));
        }));
    }

    Attempt name() const { return {claimed_.id, claimed_.attempt}; }
    // For the worker: the attempt is over, or its job is given back.
    void end() { stop_.request_stop(); }

private:
    // Waits for the answer. None comes if the worker ends meanwhile.
    Result ask(std::function<void(Attendance &, Done)> question)
    {
        if (is_over())
            throw AttemptOver(id(), attempt());
        auto answer = std::make_shared<std::promise<Reply>>();
        std::future<Reply> reply = answer->get_future();
        loop_.post([question = std::move(question), answer = std::move(answer),
                    to = attendance_]() mutable {
            const auto told = [answer = std::move(answer)](const Reply &said) {
                answer->set_value(said);
            };
            if (const auto attendance = to.lock())
                question(*attendance, told);
        });
        try {
            return checked(reply.get());
        } catch (const std::future_error &) {
            throw AttemptOver(id(), attempt());
        }
    }

    Result checked(const Reply &reply)
    {
        if (reply)
            return reply.rows;
        if (!sqlstate::attempt_is_over(*reply.error))
            throw *reply.error;
        end();
        throw AttemptOver(id(), attempt());
    }

    Loop &loop_;
    std::weak_ptr<Attendance> attendance_;
    ClaimedJob claimed_;
    std::stop_source stop_;
};

}  // namespace hipq::client
