// The spans of attempts: made when jobs arrive, sent to a collector when they end.
#include "serve/tracing.hpp"

namespace hipq::run {

using client::OtlpOptions;
using client::Span;

namespace {

std::optional<OtlpOptions> otlp_options(const Options &options)
{
    std::optional<OtlpOptions> otlp = client::otlp_options("hipq-run", options.traces, "--traces");
    try {
        if (otlp)
            client::Post::check(otlp->url);
    } catch (const std::invalid_argument &error) {
        throw UsageError(otlp->url_from + " " + otlp->url + ": " + error.what());
    }
    return otlp;
}

// The kind of failure, in a few words that many failures share.
std::string kind_of(const Span &span)
{
    for (const auto &[key, value] : span.attributes)
        if (key == "hipq.exit_code" || key == "hipq.signal")
            return (key == "hipq.signal" ? "signal " : "exit code ") +
                   std::to_string(std::get<std::int64_t>(value));
    return "";
}

}  // namespace

Tracing::Tracing(client::Loop &loop, const Options &options,
                 const client::OtlpExporter::LogFunction &log)
    : worker_(options.name)
{
    try {
        if (const std::optional<OtlpOptions> otlp = otlp_options(options))
            exporter_.emplace(loop, *otlp, log);
    } catch (const std::invalid_argument &error) {
        throw UsageError(error.what());
    }
}

std::optional<Span> Tracing::begin(client::ClaimedJob &job) const
{
    if (!exporter_)
        return std::nullopt;
    Span span = client::attempt_span(job, worker_);
    job.traceparent = span.context.traceparent();
    return span;
}

void Tracing::stop(std::optional<Span> &span, const Ending &ending)
{
    if (!span)
        return;
    span->end = Span::Clock::now();
    if (!ending.status)
        return;
    if (ending.status->signal == 0)
        span->attributes.emplace_back("hipq.exit_code", std::int64_t{ending.status->code});
    else
        span->attributes.emplace_back("hipq.signal", std::int64_t{ending.status->signal});
}

void Tracing::end(std::optional<Span> &span, const std::string &outcome,
                  const std::optional<std::string> &error)
{
    if (!span)
        return;
    client::end_span(*span, outcome, error, kind_of(*span));
    exporter_->add(std::move(*span));
}

void Tracing::finish()
{
    if (exporter_)
        exporter_->finish();
}

}  // namespace hipq::run
