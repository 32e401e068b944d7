// Sends spans to a collector by OTLP over HTTP, many at once, in a Loop. Needs libcurl, so
// client.hpp does not include it.
//
// It never waits for the collector: spans wait in memory, as many as the options allow. Further
// spans, and spans that the collector refuses, are dropped and counted.
#pragma once

#include "hipq/client/attendance.hpp"
#include "hipq/client/otlp.hpp"
#include "hipq/client/post.hpp"

namespace hipq::client {

class OtlpExporter {
public:
    using LogFunction = std::function<void(const LogEntry &)>;

    // Throws std::invalid_argument if the URL is not for HTTP.
    OtlpExporter(Loop &loop, OtlpOptions options, LogFunction log)
        : loop_(loop), options_(std::move(options)), log_(std::move(log)),
          post_(loop, options_.url, header_lines(options_.headers), options_.timeout)
    {
    }
    OtlpExporter(const OtlpExporter &) = delete;
    OtlpExporter &operator=(const OtlpExporter &) = delete;
    ~OtlpExporter() { loop_.cancel(timer_); }

    // From any thread. Ignores a span whose trace is not sampled.
    void add(Span span)
    {
        if (span.context.is_sampled())
            loop_.post([this, span = std::move(span)]() mutable { take(std::move(span)); });
    }

    // The last call, in the loop's thread: sends waiting spans, for at most this time, and drops
    // the rest. It does not wait for a collector that is away.
    void finish(Loop::Milliseconds longest = Loop::Milliseconds(5'000))
    {
        bool is_late = false;
        const Loop::Timer end = loop_.after(longest, [&is_late] { is_late = true; });
        // Spans that were added before go first.
        loop_.post([this] {
            is_finishing_ = true;
            is_pausing_ ? send_again() : send_soon(Loop::Milliseconds(0));
        });
        while (!is_late && !(is_finishing_ && waiting_.empty() && sent_.empty()))
            loop_.turn();
        loop_.cancel(end);
        loop_.cancel(timer_);
        post_.cancel();
        drop(sent_.size() + waiting_.size(), "the program ends before the collector has them");
        sent_.clear();
        waiting_.clear();
    }

    std::uint64_t exported() const { return exported_; }
    std::uint64_t dropped() const { return dropped_; }

private:
    // A collector that is away or busy is tried again after this time, then twice this time, and so
    // on.
    static constexpr Loop::Milliseconds first_pause{500};
    static constexpr int most_tries = 5;

    static std::vector<std::string> header_lines(const Pairs &headers)
    {
        // Otherwise libcurl would first ask the collector with 100-continue.
        std::vector<std::string> lines{"Content-Type: application/json", "Expect:"};
        for (const auto &[name, value] : headers)
            lines.push_back(name + (value.empty() ? ";" : ": " + value));
        return lines;
    }

    void take(Span span)
    {
        if (waiting_.size() >= options_.most_waiting)
            return drop(1, "the collector is too slow: " + std::to_string(waiting_.size()) +
                               " spans wait for it");
        waiting_.push_back(std::move(span));
        send_soon(waiting_.size() >= options_.most_at_once ? Loop::Milliseconds(0)
                                                           : options_.delay);
    }

    // One call for all spans that come until then. Retried spans go first.
    void send_soon(Loop::Milliseconds delay)
    {
        if (!sent_.empty() || waiting_.empty())
            return;
        const Loop::Clock::time_point when = Loop::Clock::now() + delay;
        if (is_due_ && timer_.first <= when)
            return;
        loop_.cancel(timer_);
        is_due_ = true;
        timer_ = loop_.after(delay, [this] {
            is_due_ = false;
            send_next();
        });
    }

    void send_next()
    {
        const std::size_t count = std::min(waiting_.size(), options_.most_at_once);
        const auto end = waiting_.begin() + static_cast<long>(count);
        sent_.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
        waiting_.erase(waiting_.begin(), end);
        tries_ = 0;
        pause_ = first_pause;
        send();
    }

    void send()
    {
        ++tries_;
        post_.send(otlp_json(options_.resource, sent_),
                   [this](const Posted &posted) { hear(posted); });
    }

    void send_again()
    {
        loop_.cancel(timer_);
        is_pausing_ = false;
        send();
    }

    void hear(const Posted &posted)
    {
        if (posted.status >= 200 && posted.status < 300) {
            accept(rejected_spans(posted.text));
        } else if (may_pass(posted.status) && tries_ < most_tries) {
            tell(why(posted));
            is_pausing_ = true;
            timer_ = loop_.after(pause_, [this] { send_again(); });
            pause_ *= 2;
            return;
        } else {
            drop(sent_.size(), why(posted));
        }
        sent_.clear();
        const bool is_full = is_finishing_ || waiting_.size() >= options_.most_at_once;
        send_soon(is_full ? Loop::Milliseconds(0) : options_.delay);
    }

    // According to OTLP: the collector is away (0), overloaded, or not ready.
    bool may_pass(long status) const
    {
        return (status == 0 && !is_finishing_) || status == 429 || status == 502 || status == 503 ||
               status == 504;
    }

    static std::string why(const Posted &posted)
    {
        return posted.status == 0 ? posted.text
                                  : "the collector answers " + std::to_string(posted.status);
    }

    // The spans that the collector rejects in a successful reply.
    std::size_t rejected_spans(const std::string &answer) const
    {
        const nlohmann::json json = nlohmann::json::parse(answer, nullptr, false);
        const nlohmann::json::json_pointer path("/partialSuccess/rejectedSpans");
        if (!json.is_object() || !json.contains(path))
            return 0;
        const nlohmann::json &count = json.at(path);
        const std::string text = count.is_string() ? count.get<std::string>() : count.dump();
        return std::min<std::size_t>(std::strtoull(text.c_str(), nullptr, 10), sent_.size());
    }

    void accept(std::size_t rejected)
    {
        exported_ += sent_.size() - rejected;
        if (rejected == 0)
            told_.clear();
        else
            drop(rejected, "the collector rejects them");
    }

    void drop(std::size_t count, const std::string &reason)
    {
        if (count == 0)
            return;
        dropped_ += count;
        tell(reason);
    }

    // Once, until the collector accepts spans again.
    void tell(const std::string &reason)
    {
        if (told_.empty())
            log_({LogEntry::Level::warning, "spans not exported", options_.url + ": " + reason});
        told_ = reason;
    }

    Loop &loop_;
    OtlpOptions options_;
    LogFunction log_;
    Post post_;
    std::deque<Span> waiting_;
    std::vector<Span> sent_;
    Loop::Timer timer_;
    Loop::Milliseconds pause_ = first_pause;
    std::uint64_t exported_ = 0;
    std::uint64_t dropped_ = 0;
    std::string told_;
    int tries_ = 0;
    bool is_due_ = false;
    bool is_pausing_ = false;
    bool is_finishing_ = false;
};

}  // namespace hipq::client
