// Traces: a position in a trace, in the format of W3C Trace Context, and the span of an attempt,
// with OpenTelemetry's attribute names.
#pragma once

#include "hipq/client/claimed_job.hpp"

#include <random>
#include <variant>

namespace hipq::client {

// The identity of a span, as other spans refer to it.
struct TraceContext {
    std::string trace_id;  // 32 hex digits
    std::string span_id;   // 16 hex digits
    unsigned flags = sampled;

    // Flags: spans of the trace are wanted; its id is random, on which tracing systems may rely.
    static constexpr unsigned sampled = 1;
    static constexpr unsigned random = 2;

    bool is_sampled() const { return (flags & sampled) != 0; }
    std::string traceparent() const
    {
        return "00-" + trace_id + "-" + span_id + "-0" + std::to_string(flags);
    }
};

struct Span {
    using Clock = std::chrono::system_clock;
    using Attribute = std::pair<std::string, std::variant<std::string, std::int64_t>>;

    TraceContext context;
    std::string parent_id = {};  // the enclosing span; empty: it begins its trace
    std::string name = {};
    std::vector<Attribute> attributes = {};
    Clock::time_point start = Clock::now();
    Clock::time_point end = {};
    std::optional<std::string> error = {};  // the reason of a failure
};

namespace detail {

inline std::string random_hex(std::size_t digits)
{
    static constexpr const char *alphabet = "0123456789abcdef";
    std::random_device random;
    std::string text;
    while (text.size() < digits)
        for (unsigned bits = random(), i = 0; i < 8 && text.size() < digits; ++i, bits >>= 4)
            text += alphabet[bits & 15];
    return text;
}

// Lower-case hex digits, not all of them zeros.
inline bool is_trace_id(const std::string &text)
{
    return text.find_first_not_of("0123456789abcdef") == std::string::npos &&
           text.find_first_not_of('0') != std::string::npos;
}

}  // namespace detail

// Reads a traceparent; none: invalid. From a later version it takes the parts of this version.
inline std::optional<TraceContext> trace_context_of(const std::string &traceparent)
{
    constexpr std::size_t length = 55;
    if (traceparent.size() < length || traceparent.starts_with("ff") || traceparent[2] != '-' ||
        traceparent[35] != '-' || traceparent[52] != '-' ||
        (traceparent.size() > length && (traceparent.starts_with("00") || traceparent[55] != '-')))
        return std::nullopt;
    TraceContext context{traceparent.substr(3, 32), traceparent.substr(36, 16)};
    const std::string flags = traceparent.substr(53, 2);
    if (!detail::is_trace_id(context.trace_id) || !detail::is_trace_id(context.span_id) ||
        flags.find_first_not_of("0123456789abcdef") != std::string::npos)
        return std::nullopt;
    context.flags = static_cast<unsigned>(std::stoi(flags, nullptr, 16)) &
                    (TraceContext::sampled | TraceContext::random);
    return context;
}

// Begins the span of an attempt: part of the trace of its job, or of a new trace if the job has
// none. `worker` is the name of the worker.
inline Span attempt_span(const ClaimedJob &job, const std::string &worker)
{
    const auto parent = job.traceparent ? trace_context_of(*job.traceparent) : std::nullopt;
    Span span{{parent ? parent->trace_id : detail::random_hex(32), detail::random_hex(16),
               parent ? parent->flags : TraceContext::sampled}};
    span.parent_id = parent ? parent->span_id : "";
    span.name = "process " + job.queue;
    span.attributes = {{"messaging.system", "hipq"},
                       {"messaging.operation.name", "process"},
                       {"messaging.operation.type", "process"},
                       {"messaging.destination.name", job.queue},
                       {"messaging.message.id", std::to_string(job.id)},
                       {"messaging.client.id", worker},
                       {"hipq.queue", job.queue},
                       {"hipq.job.id", job.id},
                       {"hipq.job.type", job.type},
                       {"hipq.attempt", std::int64_t{job.attempt}}};
    if (job.key)
        span.attributes.emplace_back("hipq.job.key", *job.key);
    return span;
}

// Ends it with this outcome: succeeded, failed, released or lost. A failed or lost one has an
// error, whose kind is one of a few words: "exit code 1", "Permanent".
inline void end_span(Span &span, const std::string &outcome,
                     const std::optional<std::string> &error = {}, const std::string &kind = {})
{
    span.attributes.emplace_back("hipq.outcome", outcome);
    span.error = error;
    if (error)
        span.attributes.emplace_back("error.type", kind.empty() ? "_OTHER" : kind);
    if (span.end == Span::Clock::time_point())
        span.end = Span::Clock::now();
}

}  // namespace hipq::client
