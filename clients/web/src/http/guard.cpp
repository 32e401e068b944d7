// Keeps other sites out: security headers, and checks of the origin of requests.
#include "http/guard.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>

#include "http/problem.hpp"
#include "options/values.hpp"

namespace hipq::web {

namespace {

// HOST of HOST, HOST:PORT, [HOST] and [HOST]:PORT; empty: none of these.
std::string without_port(const std::string &host)
{
    const bool is_six = host.rfind('[', 0) == 0;
    const std::size_t end = std::min(host.find(is_six ? ']' : ':'), host.size());
    const std::size_t rest = is_six ? end + 1 : end;
    const bool has_port = rest < host.size();
    if (rest > host.size() ||
        (has_port && (host[rest] != ':' ||
                      host.find_first_not_of("0123456789", rest + 1) != std::string::npos)))
        return "";
    return is_six ? host.substr(1, end - 1) : host.substr(0, end);
}

// The name after the scheme.
std::string name_of(const std::string &origin)
{
    const std::size_t scheme = origin.find("://");
    return scheme == std::string::npos ? "" : origin.substr(scheme + 3);
}

// An IPv4 address, or the first four groups of an IPv6 address: a client with one such address has
// all of that network. Empty: not an address.
std::string network_of(const std::string &address)
{
    in_addr four{};
    in6_addr six{};
    if (inet_pton(AF_INET, address.c_str(), &four) == 1)
        return address;
    if (inet_pton(AF_INET6, address.c_str(), &six) != 1)
        return "";
    char text[INET6_ADDRSTRLEN];
    if (IN6_IS_ADDR_V4MAPPED(&six))
        return inet_ntop(AF_INET, &six.s6_addr[12], text, sizeof(text));
    const auto group = [&](int n) { return six.s6_addr[2 * n] << 8 | six.s6_addr[2 * n + 1]; };
    std::snprintf(text, sizeof(text), "%x:%x:%x:%x", group(0), group(1), group(2), group(3));
    return text;
}

std::string last_of_list(const std::string &list)
{
    const std::size_t comma = list.rfind(',');
    const std::size_t start =
        list.find_first_not_of(' ', comma == std::string::npos ? 0 : comma + 1);
    return start == std::string::npos ? "" : list.substr(start);
}

}  // namespace

// Only this host can set a cookie with the prefix __Host-, over TLS. Without TLS it is one of
// several servers on this machine, whose ports share their cookies.
Guard::Guard(const Options &options)
    : origin_(options.origin), host_(options.host), is_tls_(origin_.rfind("https://", 0) == 0),
      cookie_name_(is_tls_ ? "__Host-hipq" : "hipq-" + std::to_string(options.port))
{
}

bool Guard::is_own_name(const std::string &host) const
{
    if (is_behind_proxy())
        return host == name_of(origin_);
    return is_loopback(without_port(host)) || without_port(host) == host_;
}

void Guard::check_host(const httplib::Request &request) const
{
    // A health check comes from the machine itself, with any host name.
    if (request.path == "/healthz")
        return;
    // Only this header is reliable: a page can set the others.
    const std::string host = request.get_header_value("Host");
    // A Prometheus on this machine does not go through the proxy.
    if (request.path == "/metrics" && is_loopback(without_port(host)))
        return;
    if (!is_own_name(host))
        throw Problem(
            421, "this is not \"" + host + "\"",
            is_behind_proxy()
                ? "The proxy has to pass on the header Host, as " + name_of(origin_) + "."
                : "If a proxy serves hipq-web under that name, start it with --behind-proxy.");
}

void Guard::check_origin(const httplib::Request &request) const
{
    const std::string site = request.get_header_value("Sec-Fetch-Site");
    if (!site.empty() && site != "same-origin")
        throw Problem(403, "the request comes from another site");
    const std::string origin = request.get_header_value("Origin");
    const bool is_same =
        is_behind_proxy() ? origin == origin_ : name_of(origin) == request.get_header_value("Host");
    if (!origin.empty() ? !is_same : site.empty())
        throw Problem(403, "the request does not come from the page of hipq-web",
                      "Send the header Origin with the address of the page.");
}

void Guard::add_headers(httplib::Response &response) const
{
    response.set_header("Content-Security-Policy",
                        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                        "font-src 'self'; connect-src 'self'; manifest-src 'self'; "
                        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("X-Frame-Options", "DENY");
    response.set_header("Referrer-Policy", "no-referrer");
    response.set_header("Cross-Origin-Opener-Policy", "same-origin");
    response.set_header("Cross-Origin-Resource-Policy", "same-origin");
    response.set_header("Permissions-Policy", "camera=(), geolocation=(), microphone=()");
    if (is_tls_)
        response.set_header("Strict-Transport-Security", "max-age=31536000");
    if (!response.has_header("Cache-Control"))
        response.set_header("Cache-Control", "no-store");
}

std::string Guard::sender(const httplib::Request &request) const
{
    // The proxy appends the address of its client; any client can write the part before it.
    const std::string forwarded = last_of_list(request.get_header_value("X-Forwarded-For"));
    if (std::string network = network_of(forwarded); is_behind_proxy() && !network.empty())
        return network;
    return network_of(request.remote_addr);
}

std::string Guard::cookie(const std::string &value) const
{
    return cookie_name_ + "=" + value + "; Path=/; HttpOnly; SameSite=Strict" +
           (is_tls_ ? "; Secure" : "") + (value.empty() ? "; Max-Age=0" : "");
}

std::string Guard::cookie_of(const httplib::Request &request) const
{
    const std::string cookies = request.get_header_value("Cookie");
    const std::string wanted = cookie_name_ + "=";
    for (std::size_t at = 0; at < cookies.size();) {
        const std::size_t end = std::min(cookies.find(';', at), cookies.size());
        at = std::min(cookies.find_first_not_of(' ', at), cookies.size());
        if (cookies.compare(at, wanted.size(), wanted) == 0)
            return cookies.substr(at + wanted.size(), end - at - wanted.size());
        at = end + 1;
    }
    return "";
}

}  // namespace hipq::web
