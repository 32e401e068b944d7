// Reports the results of attempts to the server: successes together, as many as have come
// meanwhile.
#pragma once

#include "hipq/client/arrays.hpp"
#include "hipq/client/error_texts.hpp"
#include "hipq/client/session.hpp"

namespace hipq::client {

// Identifies an attempt.
struct Attempt {
    std::int64_t id;
    int attempt;
    auto operator<=>(const Attempt &) const = default;
};

// How a handler failed.
struct Failure {
    std::string error;
    bool retriable = true;
    Value retry_after = {};  // how long a retry waits; none: the job type decides
};

// The server's reply to an answer.
struct Told {
    enum class How { counted, over, refused } how;
    std::string state;  // after fail(): retry, final, or error while a retry handler decides
    std::shared_ptr<const Error> error;  // refused: the server's objection to the answer
};

using OnTold = std::function<void(const Told &)>;

class Answers {
public:
    Answers(Loop &loop, Session &session) : loop_(loop), session_(session) {}

    // The result is JSON.
    void complete(Attempt attempt, std::string result, OnTold told)
    {
        successes_.push_back({attempt, std::move(result), std::move(told)});
        tell_soon();
    }
    void fail(Attempt attempt, Failure failure, OnTold told)
    {
        failure.error = error_text(failure.error);
        const std::string ascii = in_ascii(failure.error);
        if (ascii == failure.error)
            return tell_failure(attempt, failure, std::move(told));
        tell_failure(attempt, failure, [=, this, told = std::move(told)](const Told &what) {
            if (what.how == Told::How::refused)
                tell_failure(attempt, {ascii, failure.retriable, failure.retry_after}, told);
            else
                told(what);
        });
    }
    void release(Attempt attempt, const std::string &delay, OnTold told)
    {
        tell(attempt, "SELECT hipq.release($1::bigint, $2::integer, $3::text::hipq.duration)",
             {delay}, std::move(told));
    }

    // The number of answers that are not sent, or not confirmed.
    int waiting() const { return static_cast<int>(successes_.size()) + in_flight_; }

private:
    struct Success {
        Attempt attempt;
        std::string result;
        OnTold told;
    };
    using Successes = std::vector<Success>;
    static constexpr std::size_t most_at_once = 1'000;

    void tell_failure(Attempt attempt, const Failure &failure, OnTold told)
    {
        const Value retriable = failure.retriable ? "true" : "false";
        if (failure.retry_after)
            tell(attempt,
                 "SELECT hipq.fail($1::bigint, $2::integer, $3::text, $4::boolean, "
                 "retry_after => $5::text::hipq.duration) AS state",
                 {failure.error, retriable, failure.retry_after}, std::move(told));
        else
            tell(attempt,
                 "SELECT hipq.fail($1::bigint, $2::integer, $3::text, $4::boolean) AS state",
                 {failure.error, retriable}, std::move(told));
    }

    // Values that follow id and attempt.
    void tell(Attempt attempt, const char *text, std::vector<Value> values, OnTold told)
    {
        values.insert(values.begin(),
                      {std::to_string(attempt.id), std::to_string(attempt.attempt)});
        ++in_flight_;
        session_.send({text, std::move(values)}, Lost::is_sent_again,
                      [this, told = std::move(told)](const Reply &reply) {
                          --in_flight_;
                          if (reply)
                              told({Told::How::counted, reply.rows.text(0, "state"), nullptr});
                          else
                              told(refusal(reply.error));
                      });
    }

    static Told refusal(const std::shared_ptr<const Error> &error)
    {
        if (sqlstate::attempt_is_over(*error))
            return {Told::How::over, "", nullptr};
        return {Told::How::refused, "", error};
    }

    // Attempts that end in the same turn go together, and so do all that end until the server has
    // replied.
    void tell_soon()
    {
        if (is_telling_)
            return;
        is_telling_ = true;
        loop_.soon([this] { tell_successes(); });
    }

    void tell_successes()
    {
        const std::size_t count = std::min(successes_.size(), most_at_once);
        is_telling_ = count > 0;
        if (!is_telling_)
            return;
        const auto end = successes_.begin() + static_cast<std::ptrdiff_t>(count);
        auto some = std::make_shared<Successes>(std::make_move_iterator(successes_.begin()),
                                                std::make_move_iterator(end));
        successes_.erase(successes_.begin(), end);
        tell_together(some, [this] { tell_successes(); });
    }

    void tell_together(const std::shared_ptr<Successes> &some, const std::function<void()> &then)
    {
        in_flight_ += static_cast<int>(some->size());
        session_.send(complete_statement(*some), Lost::is_sent_again,
                      [this, some, then](const Reply &reply) {
                          in_flight_ -= static_cast<int>(some->size());
                          if (reply)
                              distribute(*some, number_set(reply.rows.text(0, "ids")));
                          else if (some->size() == 1)
                              some->front().told(refusal(reply.error));
                          else
                              tell_apart(*some);
                          then();
                      });
    }

    static Statement complete_statement(const Successes &some)
    {
        const auto id = [](const Success &success) { return std::to_string(success.attempt.id); };
        const auto number = [](const Success &success) {
            return std::to_string(success.attempt.attempt);
        };
        const auto result = [](const Success &success) { return quoted_element(success.result); };
        return {
            "SELECT hipq.complete_attempts($1::bigint[], $2::integer[], $3::jsonb[])::text AS ids",
            {array_of(some, id), array_of(some, number), array_of(some, result)}};
    }

    static void distribute(const Successes &some, const std::set<std::int64_t> &told)
    {
        for (const Success &success : some) {
            const bool counted = told.contains(success.attempt.id);
            success.told({counted ? Told::How::counted : Told::How::over, "", nullptr});
        }
    }

    // One bad answer makes the whole statement fail.
    void tell_apart(const Successes &some)
    {
        for (const Success &success : some)
            tell_together(std::make_shared<Successes>(1, success), [] {});
    }

    Loop &loop_;
    Session &session_;
    Successes successes_;
    int in_flight_ = 0;
    bool is_telling_ = false;
};

}  // namespace hipq::client
