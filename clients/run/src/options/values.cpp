// Parses the values of options, each into its type, and reports errors.
#include "options/values.hpp"

#include "hipq/client/post.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>

namespace hipq::run {

Seconds read_seconds(const std::string &text)
{
    double seconds = 0;
    const char *end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, seconds);
    if (problem != std::errc() || rest != end || !(seconds >= 0) || seconds > 1e9)
        throw UsageError("needs a number of seconds, such as 10 or 0.5");
    return Seconds(seconds);
}

std::vector<std::string> read_names(const std::string &text)
{
    std::vector<std::string> names;
    std::size_t from = 0;
    while (from <= text.size()) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        if (comma == from)
            throw UsageError("needs names, with a comma between two");
        names.push_back(text.substr(from, comma - from));
        from = comma + 1;
    }
    return names;
}

bool read_choice(const std::string &text, const std::string &first, const std::string &second)
{
    if (text != first && text != second)
        throw UsageError("needs \"" + first + "\" or \"" + second + "\"");
    return text == second;
}

std::string read_object(const std::string &text)
{
    const nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
    if (!value.is_object())
        throw UsageError("needs a JSON object");
    return text;
}

Address read_address(const std::string &text)
{
    const std::size_t colon = text.rfind(':');
    std::string host = colon == std::string::npos ? "" : text.substr(0, colon);
    const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    else if (host.find(':') != std::string::npos)
        throw UsageError("needs brackets around an address of IPv6, as in [::1]:9188");
    try {
        read_number(port, 1, 65535);
    } catch (const UsageError &) {
        throw UsageError("needs HOST:PORT, or a port of this machine alone, such as 9188");
    }
    return {host.empty() ? "127.0.0.1" : host, port};
}

void read_url(const std::string &text)
{
    try {
        client::Post::check(text);
    } catch (const std::invalid_argument &error) {
        throw UsageError(error.what());
    }
}

}  // namespace hipq::run
