// Spans: valid traceparents, the collector from the environment, and the data sent to it.
#include "hipq/client/otlp.hpp"

#include <gtest/gtest.h>

#include <map>

namespace hipq::client {

namespace {

const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string parent = "00f067aa0ba902b7";

using Settings = std::map<std::string, const char *>;

std::optional<OtlpOptions> options_of(const Settings &settings, const std::string &url = "")
{
    return otlp_options("worker", url, "--traces", [&](const char *name) {
        const auto found = settings.find(name);
        return found == settings.end() ? nullptr : found->second;
    });
}

std::string url_of(const Settings &settings, const std::string &url = "")
{
    const auto options = options_of(settings, url);
    return options ? options->url : "none";
}

std::string setting_error(Settings settings)
{
    settings.insert({"OTEL_EXPORTER_OTLP_ENDPOINT", "http://a"});
    try {
        options_of(settings);
    } catch (const std::invalid_argument &error) {
        return error.what();
    }
    return "none";
}

}  // namespace

TEST(Traceparent, IsReadAndWritten)
{
    const auto context = trace_context_of("00-" + trace + "-" + parent + "-01");
    ASSERT_TRUE(context);
    EXPECT_EQ(context->trace_id, trace);
    EXPECT_EQ(context->span_id, parent);
    EXPECT_TRUE(context->is_sampled());
    EXPECT_EQ(context->traceparent(), "00-" + trace + "-" + parent + "-01");
    const auto random = trace_context_of("00-" + trace + "-" + parent + "-fe");
    ASSERT_TRUE(random);
    EXPECT_FALSE(random->is_sampled());
    EXPECT_EQ(random->traceparent(), "00-" + trace + "-" + parent + "-02");
}

TEST(Traceparent, OfALaterVersionIsReadAsFarAsKnown)
{
    EXPECT_TRUE(trace_context_of("01-" + trace + "-" + parent + "-01-more"));
    EXPECT_FALSE(trace_context_of("01-" + trace + "-" + parent + "-01more"));
    EXPECT_FALSE(trace_context_of("00-" + trace + "-" + parent + "-01-more"));
    EXPECT_FALSE(trace_context_of("ff-" + trace + "-" + parent + "-01"));
}

TEST(Traceparent, ThatIsNoneIsNothing)
{
    const std::string zeros(32, '0');
    for (const std::string &text :
         {std::string(), "00-" + trace + "-" + parent, "00-" + trace + "+" + parent + "-01",
          "00-" + zeros + "-" + parent + "-01", "00-" + trace + "-" + zeros.substr(16) + "-01",
          "00-" + std::string(32, 'G') + "-" + parent + "-01",
          "00-" + trace + "-" + parent + "-0x"})
        EXPECT_FALSE(trace_context_of(text)) << text;
}

TEST(AttemptSpan, IsAChildOfTheJobsTrace)
{
    ClaimedJob job;
    job.traceparent = "00-" + trace + "-" + parent + "-00";
    const Span span = attempt_span(job, "me");
    EXPECT_EQ(span.context.trace_id, trace);
    EXPECT_EQ(span.parent_id, parent);
    EXPECT_NE(span.context.span_id, parent);
    EXPECT_FALSE(span.context.is_sampled());
}

TEST(AttemptSpan, BeginsATraceWithoutOne)
{
    const Span one = attempt_span({}, "me");
    const Span other = attempt_span({}, "me");
    EXPECT_EQ(one.parent_id, "");
    EXPECT_TRUE(one.context.is_sampled());
    EXPECT_TRUE(trace_context_of(one.context.traceparent()));
    EXPECT_NE(one.context.trace_id, other.context.trace_id);
}

TEST(OtlpOptions, SayWhere)
{
    EXPECT_EQ(url_of({}), "none");
    EXPECT_EQ(url_of({}, "http://c/"), "http://c/");
    EXPECT_EQ(url_of({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4318"}}),
              "http://a:4318/v1/traces");
    EXPECT_EQ(url_of({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://a/b/"}}), "http://a/b/v1/traces");
    EXPECT_EQ(url_of({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t"},
                      {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://a"}}),
              "http://t");
    EXPECT_EQ(url_of({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t"}}, "http://c"), "http://c");
    EXPECT_EQ(url_of({{"OTEL_TRACES_EXPORTER", "otlp"}}), "http://localhost:4318/v1/traces");
}

TEST(OtlpOptions, SayWhether)
{
    EXPECT_EQ(url_of({{"OTEL_SDK_DISABLED", "true"}}, "http://c"), "none");
    EXPECT_EQ(url_of({{"OTEL_SDK_DISABLED", "false"}}, "http://c"), "http://c");
    EXPECT_EQ(url_of({{"OTEL_TRACES_EXPORTER", "none"}}, "http://c"), "none");
    EXPECT_EQ(url_of({{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}), "none");
}

TEST(OtlpOptions, AreThoseOfTheEnvironment)
{
    const auto options = options_of({{"OTEL_EXPORTER_OTLP_HEADERS", " a = b%20c , d="},
                                     {"OTEL_EXPORTER_OTLP_TIMEOUT", "1"},
                                     {"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "2"},
                                     {"OTEL_BSP_SCHEDULE_DELAY", "3"},
                                     {"OTEL_BSP_MAX_QUEUE_SIZE", "4"},
                                     {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "5"},
                                     {"OTEL_RESOURCE_ATTRIBUTES", "x=y,service.name=z"}},
                                    "http://c");
    ASSERT_TRUE(options);
    EXPECT_EQ(options->headers, (Pairs{{"a", "b c"}, {"d", ""}}));
    EXPECT_EQ(options->timeout.count(), 2);
    EXPECT_EQ(options->delay.count(), 3);
    EXPECT_EQ(options->most_waiting, 4U);
    EXPECT_EQ(options->most_at_once, 4U) << "not more than may wait";
    EXPECT_EQ(options->resource, (Pairs{{"service.name", "z"}, {"x", "y"}}));
    EXPECT_EQ(options_of({}, "http://c")->resource, (Pairs{{"service.name", "worker"}}));
}

TEST(OtlpOptions, SayWhatIsWrong)
{
    EXPECT_EQ(setting_error({}), "none");
    EXPECT_EQ(setting_error({{"OTEL_EXPORTER_OTLP_TIMEOUT", "0"}}),
              "OTEL_EXPORTER_OTLP_TIMEOUT 0: needs a whole number from 1 to 1000000000");
    EXPECT_EQ(setting_error({{"OTEL_EXPORTER_OTLP_HEADERS", "a=1,b"}}),
              "OTEL_EXPORTER_OTLP_HEADERS a=1,b: needs pairs such as key=value, with a comma "
              "between two");
    for (const char *value : {"a=%", "a=%2", "a=%zz", "a=%0A"})
        EXPECT_NE(setting_error({{"OTEL_RESOURCE_ATTRIBUTES", value}}), "none") << value;
    EXPECT_EQ(setting_error({{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}),
              "OTEL_EXPORTER_OTLP_PROTOCOL grpc: needs \"http/json\" or \"http/protobuf\"");
}

TEST(OtlpJson, IsWhatTheProtocolSays)
{
    using std::chrono::nanoseconds;
    Span span{{trace, "b7ad6b7169203331"}, parent, "process q", {{"n", std::int64_t{7}}}};
    span.start = Span::Clock::time_point(nanoseconds(1'700'000'000'123'456'789));
    span.end = span.start + std::chrono::seconds(1);
    end_span(span, "failed", "no \xff luck", "exit code 1");
    const auto body = nlohmann::json::parse(otlp_json({{"service.name", "me"}}, {span}));
    const auto expected = nlohmann::json::parse(R"({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "me"}}]},
        "scopeSpans": [{"scope": {"name": "hipq"}, "spans": [{
            "traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": "b7ad6b7169203331",
            "parentSpanId": "00f067aa0ba902b7", "flags": 769, "name": "process q", "kind": 5,
            "startTimeUnixNano": "1700000000123456789", "endTimeUnixNano": "1700000001123456789",
            "attributes": [{"key": "n", "value": {"intValue": "7"}},
                           {"key": "hipq.outcome", "value": {"stringValue": "failed"}},
                           {"key": "error.type", "value": {"stringValue": "exit code 1"}}],
            "status": {"code": 2, "message": "no \uFFFD luck"}}]}]}]})");
    EXPECT_EQ(body, expected);
}

}  // namespace hipq::client
