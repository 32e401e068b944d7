// The spans of attempts: made when jobs arrive, sent to a collector when they end. Does nothing
// without a collector.
#pragma once

#include "hipq/client/otlp_exporter.hpp"

#include "child/ending.hpp"
#include "options/options.hpp"

namespace hipq::run {

class Tracing {
public:
    // Throws UsageError for a wrong variable in the environment.
    Tracing(client::Loop &loop, const Options &options,
            const client::OtlpExporter::LogFunction &log);

    // Its program gets the span in its traceparent, so that its own spans become children.
    std::optional<client::Span> begin(client::ClaimedJob &job) const;
    // Its program has ended; the server's reply comes later.
    static void stop(std::optional<client::Span> &span, const Ending &ending);
    // The outcome (succeeded, failed, released, lost), and the reason if it failed or is lost.
    void end(std::optional<client::Span> &span, const std::string &outcome,
             const std::optional<std::string> &error);
    // Sends the remaining spans, for some seconds.
    void finish();

    std::uint64_t exported() const { return exporter_ ? exporter_->exported() : 0; }
    std::uint64_t dropped() const { return exporter_ ? exporter_->dropped() : 0; }

private:
    std::string worker_;
    std::optional<client::OtlpExporter> exporter_;
};

}  // namespace hipq::run
