// The spans of attempts: made as jobs come, sent to a collector as they end. Without a collector
// nothing of that.
#pragma once

#include "hipq/client/otlp_exporter.hpp"

#include "child/ending.hpp"
#include "options/options.hpp"

namespace hipq::run {

class Tracing {
public:
    // Throws UsageError: the environment has a variable that is wrong.
    Tracing(client::Loop &loop, const Options &options,
            const client::OtlpExporter::LogFunction &log);

    // Its program has the span in its traceparent, so that its own spans hang below.
    std::optional<client::Span> begin(client::ClaimedJob &job) const;
    // Its program has ended; what the server makes of that comes later.
    static void stop(std::optional<client::Span> &span, const Ending &ending);
    // As which it counts (succeeded, failed, released, lost), and why if it has failed or is lost.
    void end(std::optional<client::Span> &span, const std::string &outcome,
             const std::optional<std::string> &error);
    // Sends what is left, for some seconds.
    void finish();

    std::uint64_t exported() const { return exporter_ ? exporter_->exported() : 0; }
    std::uint64_t dropped() const { return exporter_ ? exporter_->dropped() : 0; }

private:
    std::string worker_;
    std::optional<client::OtlpExporter> exporter_;
};

}  // namespace hipq::run
