// Middleware that makes a span of each attempt, for a tracing system.
#pragma once

#include "hipq/client/handlers.hpp"
#include "hipq/client/trace.hpp"

namespace hipq::client {

namespace detail {

// Ends the span of a handler, according to the exception that is being thrown.
inline void end_span_by_exception(Span &span)
{
    try {
        throw;
    } catch (const AttemptOver &error) {
        end_span(span, "lost", error.what(), "AttemptOver");
    } catch (const Release &) {
        end_span(span, "released");
    } catch (const RetryAfter &error) {
        end_span(span, "failed", error.what(), "RetryAfter");
    } catch (const Permanent &error) {
        end_span(span, "failed", error.what(), "Permanent");
    } catch (const std::exception &error) {
        end_span(span, "failed", error.what());
    } catch (...) {
        end_span(span, "failed", "the handler threw what is no exception");
    }
}

}  // namespace detail

// For Worker::use(), as the first middleware. Reports each span when its handler has ended, in the
// handler's thread. `worker` is the name of the worker. In the handler job.traceparent() is that of
// the span: calls and jobs with it become its children.
inline Middleware traced(std::string worker, std::function<void(Span)> ended)
{
    return [worker = std::move(worker),
            ended = std::move(ended)](Job &job, const std::function<Json()> &next) -> Json {
        Span span = attempt_span(job.claimed(), worker);
        job.set_traceparent(span.context.traceparent());
        Json result;
        std::exception_ptr thrown;
        try {
            result = next();
            if (job.is_over())
                throw AttemptOver(job.id(), job.attempt());
            end_span(span, "succeeded");
        } catch (...) {
            thrown = std::current_exception();
            detail::end_span_by_exception(span);
        }
        ended(std::move(span));
        if (thrown)
            std::rethrow_exception(thrown);
        return result;
    };
}

}  // namespace hipq::client
