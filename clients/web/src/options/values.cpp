// Parses the values of options, each into its type, and reports errors.
#include "options/values.hpp"

#include <arpa/inet.h>

namespace hipq::web {

void set_address(Options &options, const std::string &text)
{
    const std::size_t colon = text.rfind(':');
    std::string host = colon == std::string::npos ? "127.0.0.1" : text.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    else if (host.empty() || host.find(':') != std::string::npos)
        throw UsageError("needs HOST:PORT, [IPv6 address]:PORT, or a port alone, such as 8484");
    options.host = host;
    // With 0 the system chooses a port, which the log shows.
    options.port =
        read_number(colon == std::string::npos ? text : text.substr(colon + 1), 0, 65535);
}

void set_origin(Options &options, const std::string &text)
{
    const std::size_t scheme = text.find("://");
    const std::string name = scheme == std::string::npos ? "" : text.substr(scheme + 3);
    const bool is_web = text.rfind("http://", 0) == 0 || text.rfind("https://", 0) == 0;
    if (!is_web || name.empty() || name.find_first_of("/?#@ ") != std::string::npos)
        throw UsageError("needs an address without a path, such as https://jobs.example.com");
    options.origin = text;
}

bool is_loopback(const std::string &host)
{
    in_addr four{};
    return host == "localhost" || host == "::1" ||
           (inet_pton(AF_INET, host.c_str(), &four) == 1 && (ntohl(four.s_addr) >> 24) == 127);
}

}  // namespace hipq::web
