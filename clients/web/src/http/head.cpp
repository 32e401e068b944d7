// The head of a request, checked before cpp-httplib reads it.
#include "http/head.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "http/problem.hpp"

namespace hipq::web {

namespace {

constexpr std::size_t longest_line = 4'000;
constexpr std::size_t most_headers = 100;

bool is_control(char c)
{
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f';
}

char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string in_lower_case(std::string_view text)
{
    std::string made(text);
    std::transform(made.begin(), made.end(), made.begin(), lower);
    return made;
}

// A line break other than CR LF could make two lines for another program.
void check_line(std::string_view line)
{
    if (std::any_of(line.begin(), line.end(), is_control))
        throw Problem(400, "the head of the request has a character that none may have");
}

struct Header {
    std::string name;  // in lower case
    std::string value;
};

Header read_header(std::string_view line)
{
    static constexpr const char *letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || name.empty() ||
        name.find_first_not_of(letters) != std::string_view::npos)
        throw Problem(400, "the request has a line that is no header");
    std::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    value.remove_suffix(value.size() - (value.find_last_not_of(" \t") + 1));
    return {in_lower_case(name), std::string(value)};
}

std::size_t read_length(const std::string &value)
{
    std::size_t length = 0;
    const char *end = value.data() + value.size();
    const auto [rest, problem] = std::from_chars(value.data(), end, length);
    if (problem == std::errc::result_out_of_range || length > longest_body)
        throw Problem(413, "the body is longer than " + std::to_string(longest_body) + " bytes");
    if (problem != std::errc() || rest != end)
        throw Problem(400, "Content-Length has to be a number");
    return length;
}

// Of two such headers, a proxy may have used the other one.
void set_once(std::optional<std::string> &once, const Header &header)
{
    if (once)
        throw Problem(400, "the request has two headers \"" + header.name + "\"");
    once = header.value;
}

class HeadReader {
public:
    // Whether cpp-httplib gets the header unchanged.
    bool take(const Header &header)
    {
        if (header.name == "transfer-encoding")
            throw Problem(411, "the length of the body has to be known",
                          "Send Content-Length instead of Transfer-Encoding.");
        if (header.name == "content-encoding" ||
            (header.name == "content-type" &&
             in_lower_case(header.value).rfind("multipart/", 0) == 0))
            throw Problem(415, "the body has to be plain JSON");
        if (header.name == "content-length")
            set_once(length_, header);
        if (header.name == "host")
            set_once(host_, header);
        if (header.name == "x-forwarded-for")
            forwarded_ = header.value;
        if (header.name == "accept-encoding")
            takes_gzip_ = in_lower_case(header.value).find("gzip") != std::string::npos;
        return header.name != "range" && header.name != "expect" &&
               header.name != "x-forwarded-for" && header.name != "accept-encoding";
    }

    std::size_t body_size() const { return length_ ? read_length(*length_) : 0; }

    // Of several such headers the last one is that of the proxy.
    std::string forwarded() const
    {
        return forwarded_ ? "X-Forwarded-For: " + *forwarded_ + "\r\n" : "";
    }

    // cpp-httplib would prefer brotli, with the slowest of its levels: 3 s for a megabyte.
    std::string encodings() const { return takes_gzip_ ? "Accept-Encoding: gzip\r\n" : ""; }

private:
    std::optional<std::string> length_;
    std::optional<std::string> host_;
    std::optional<std::string> forwarded_;
    bool takes_gzip_ = false;
};

}  // namespace

Head read_head(std::string_view text)
{
    Head head;
    HeadReader reader;
    std::size_t lines = 0;
    for (std::size_t at = 0;; ++lines) {
        const std::size_t end = text.find("\r\n", at);
        const std::string_view line = text.substr(at, end - at);
        at = end + 2;
        if (line.empty() && lines == 0)
            throw Problem(400, "the request has no first line");
        if (line.empty())
            break;
        check_line(line);
        if (lines == 0 && line.size() > longest_line)
            throw Problem(414, "the address is too long");
        if (lines > most_headers)
            throw Problem(431, "the request has too many headers");
        if (lines == 0 || reader.take(read_header(line)))
            head.text.append(line).append("\r\n");
    }
    head.text += reader.forwarded() + reader.encodings() + "\r\n";
    head.body_size = reader.body_size();
    return head;
}

}  // namespace hipq::web
