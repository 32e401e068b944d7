// How spans reach a collector: its address, from OpenTelemetry's variables, and spans in the JSON
// of its protocol, OTLP.
#pragma once

#include "hipq/client/trace.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cstdlib>

namespace hipq::client {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// The fields have the names of OpenTelemetry's specification.
struct OtlpOptions {
    std::string url;                     // to which spans are posted
    std::string url_from;                // its source: a variable, or an option
    Pairs headers = {};                  // of each request
    Pairs resource = {};                 // attributes of the process that makes the spans
    Loop::Milliseconds timeout{10'000};  // of a request
    Loop::Milliseconds delay{5'000};     // how long a span waits for others
    std::size_t most_waiting = 2'048;    // spans; further ones are dropped
    std::size_t most_at_once = 512;      // spans of a request
};

// The value of a variable; null: it is not set.
using Variables = std::function<const char *(const char *)>;

namespace detail {

// The environment; an empty variable counts as not set.
class OtelVariables {
public:
    explicit OtelVariables(Variables variables) : variables_(std::move(variables)) {}

    std::string text(const std::string &name) const
    {
        const char *value = variables_(name.c_str());
        return value == nullptr ? "" : value;
    }
    // OTEL_EXPORTER_OTLP_TRACES_... has precedence over OTEL_EXPORTER_OTLP_...
    std::string name_for_traces(const std::string &rest) const
    {
        const std::string own = "OTEL_EXPORTER_OTLP_TRACES_" + rest;
        return text(own).empty() ? "OTEL_EXPORTER_OTLP_" + rest : own;
    }
    std::int64_t number(const std::string &name, std::int64_t otherwise) const
    {
        const std::string value = text(name);
        if (value.empty())
            return otherwise;
        std::int64_t number = 0;
        const char *end = value.data() + value.size();
        const auto [rest, problem] = std::from_chars(value.data(), end, number);
        if (problem != std::errc() || rest != end || number < 1 || number > 1'000'000'000)
            refuse(name, "needs a whole number from 1 to 1000000000");
        return number;
    }
    // "a=1,b=2", with %20 for a space.
    Pairs pairs(const std::string &name) const
    {
        Pairs pairs;
        const std::string all = text(name);
        for (std::size_t from = 0; from < all.size();) {
            const std::size_t end = std::min(all.find(',', from), all.size());
            const std::string pair = all.substr(from, end - from);
            from = end + 1;
            const std::size_t equals = pair.find('=');
            const std::string key = trimmed(pair.substr(0, equals));
            if (equals == std::string::npos || key.empty())
                refuse(name, "needs pairs such as key=value, with a comma between two");
            pairs.emplace_back(key, decoded(name, trimmed(pair.substr(equals + 1))));
        }
        return pairs;
    }
    [[noreturn]] void refuse(const std::string &name, const std::string &why) const
    {
        throw std::invalid_argument(name + " " + text(name) + ": " + why);
    }

private:
    static std::string trimmed(const std::string &text)
    {
        const std::size_t from = text.find_first_not_of(" \t");
        const std::size_t last = text.find_last_not_of(" \t");
        return from == std::string::npos ? "" : text.substr(from, last + 1 - from);
    }
    std::string decoded(const std::string &name, const std::string &text) const
    {
        std::string decoded;
        for (std::size_t i = 0; i < text.size(); ++i) {
            unsigned char byte = static_cast<unsigned char>(text[i]);
            if (text[i] == '%') {
                const char *digits = text.c_str() + i + 1;
                const char *end = digits + std::min<std::size_t>(2, text.size() - i - 1);
                const auto [rest, problem] = std::from_chars(digits, end, byte, 16);
                if (problem != std::errc() || rest != digits + 2 || byte < ' ')
                    refuse(name, "has a % without two hex digits of a character after it");
                i += 2;
            }
            decoded += static_cast<char>(byte);
        }
        return decoded;
    }

    Variables variables_;
};

// Whether spans are made at all.
inline bool wants_spans(const OtelVariables &variables)
{
    const std::string disabled = variables.text("OTEL_SDK_DISABLED");
    const std::string exporter = variables.text("OTEL_TRACES_EXPORTER");
    if (disabled == "true" || exporter == "none")
        return false;
    if (!disabled.empty() && disabled != "false")
        variables.refuse("OTEL_SDK_DISABLED", "needs \"true\" or \"false\"");
    if (!exporter.empty() && exporter != "otlp")
        variables.refuse("OTEL_TRACES_EXPORTER", "needs \"otlp\" or \"none\"");
    return true;
}

// A collector that accepts one format over HTTP accepts the other, too: the exporter sends JSON.
inline void check_protocol(const OtelVariables &variables)
{
    const std::string protocol = variables.name_for_traces("PROTOCOL");
    const std::string spoken = variables.text(protocol);
    if (!spoken.empty() && spoken != "http/json" && spoken != "http/protobuf")
        variables.refuse(protocol, "needs \"http/json\" or \"http/protobuf\"");
}

}  // namespace detail

// The options from the environment. `url`, if it is not empty, has precedence over the endpoints
// there, and `url_from` is its source. `service` is the name of the service unless the environment
// has one. None: there is no endpoint, or spans are turned off. Throws std::invalid_argument, which
// names the wrong variable.
inline std::optional<OtlpOptions> otlp_options(const std::string &service, std::string url = {},
                                               std::string url_from = {},
                                               const Variables &environment = std::getenv)
{
    const detail::OtelVariables variables(environment);
    if (!detail::wants_spans(variables))
        return std::nullopt;
    if (url.empty()) {
        url_from = variables.name_for_traces("ENDPOINT");
        url = variables.text(url_from);
        // The base for all signals; each has a path below it.
        if (!url.empty() && url_from == "OTEL_EXPORTER_OTLP_ENDPOINT")
            url += url.ends_with('/') ? "v1/traces" : "/v1/traces";
    }
    if (url.empty() && variables.text("OTEL_TRACES_EXPORTER").empty())
        return std::nullopt;
    detail::check_protocol(variables);
    OtlpOptions options{url.empty() ? "http://localhost:4318/v1/traces" : url, url_from};
    options.headers = variables.pairs(variables.name_for_traces("HEADERS"));
    options.timeout =
        Loop::Milliseconds(variables.number(variables.name_for_traces("TIMEOUT"), 10'000));
    options.delay = Loop::Milliseconds(variables.number("OTEL_BSP_SCHEDULE_DELAY", 5'000));
    options.most_waiting =
        static_cast<std::size_t>(variables.number("OTEL_BSP_MAX_QUEUE_SIZE", 2'048));
    // A full queue is sent, however small it is.
    options.most_at_once =
        std::min(static_cast<std::size_t>(variables.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)),
                 options.most_waiting);
    const std::string name = variables.text("OTEL_SERVICE_NAME");
    options.resource = {{"service.name", name.empty() ? service : name}};
    for (const auto &[key, value] : variables.pairs("OTEL_RESOURCE_ATTRIBUTES"))
        if (key != "service.name")
            options.resource.emplace_back(key, value);
        else if (name.empty())
            options.resource[0].second = value;
    return options;
}

namespace detail {

inline nlohmann::json otlp_attribute(const Span::Attribute &attribute)
{
    const auto &[key, value] = attribute;
    const auto *text = std::get_if<std::string>(&value);
    // In the JSON form of protocol buffers a 64-bit integer is a string.
    return {{"key", key},
            {"value", text != nullptr
                          ? nlohmann::json{{"stringValue", *text}}
                          : nlohmann::json{{"intValue", std::to_string(std::get<1>(value))}}}};
}

inline std::string nanoseconds_of(Span::Clock::time_point time)
{
    return std::to_string(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

inline nlohmann::json otlp_span(const Span &span)
{
    constexpr int consumer = 5;
    constexpr int failed = 2;
    // Flags: it is known whether the parent is in another process; the parent is in another
    // process.
    constexpr unsigned has_is_remote = 0x100;
    constexpr unsigned is_remote = 0x200;
    nlohmann::json json{
        {"traceId", span.context.trace_id},
        {"spanId", span.context.span_id},
        {"name", span.name},
        {"kind", consumer},
        {"startTimeUnixNano", nanoseconds_of(span.start)},
        {"endTimeUnixNano", nanoseconds_of(span.end)},
        {"flags", span.context.flags | has_is_remote | (span.parent_id.empty() ? 0U : is_remote)},
        {"attributes", nlohmann::json::array()},
        {"status", nlohmann::json::object()}};
    if (!span.parent_id.empty())
        json["parentSpanId"] = span.parent_id;
    for (const Span::Attribute &attribute : span.attributes)
        json["attributes"].push_back(otlp_attribute(attribute));
    if (span.error)
        json["status"] = {{"code", failed}, {"message", *span.error}};
    return json;
}

}  // namespace detail

// The body of a request with spans for a collector, to be posted as application/json.
inline std::string otlp_json(const Pairs &resource, const std::vector<Span> &spans)
{
    nlohmann::json attributes = nlohmann::json::array();
    for (const auto &[key, value] : resource)
        attributes.push_back(detail::otlp_attribute({key, value}));
    nlohmann::json written = nlohmann::json::array();
    for (const Span &span : spans)
        written.push_back(detail::otlp_span(span));
    nlohmann::json scope;
    scope["scope"]["name"] = "hipq";
    scope["spans"] = std::move(written);
    nlohmann::json of_resource;
    of_resource["resource"]["attributes"] = std::move(attributes);
    of_resource["scopeSpans"].push_back(std::move(scope));
    nlohmann::json body;
    body["resourceSpans"].push_back(std::move(of_resource));
    return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace hipq::client
