// The files of the page: read at each request, and not sent again to clients that have them.
#include "http/files.hpp"

#include <openssl/sha.h>

#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "http/problem.hpp"

namespace hipq::web {

namespace {

// Folders and a file with a suffix, with plain letters only: nothing that leads out of the folder.
bool is_file_name(const std::string &path)
{
    static constexpr const char *plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";
    const std::size_t dot = path.rfind('.');
    return path.find_first_not_of(plain) == std::string::npos && dot != std::string::npos &&
           path.find('/', dot) == std::string::npos && path.find("/.") == std::string::npos &&
           path.find("//") == std::string::npos;
}

std::optional<std::string> content_of(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
}

const char *type_of(const std::string &path)
{
    static const std::map<std::string, const char *> types = {
        {"html", "text/html; charset=utf-8"},
        {"css", "text/css; charset=utf-8"},
        {"js", "text/javascript; charset=utf-8"},
        {"mjs", "text/javascript; charset=utf-8"},
        {"json", "application/json"},
        {"webmanifest", "application/manifest+json"},
        {"svg", "image/svg+xml"},
        {"png", "image/png"},
        {"ico", "image/x-icon"},
        {"woff2", "font/woff2"},
        {"txt", "text/plain; charset=utf-8"}};
    const auto found = types.find(path.substr(path.rfind('.') + 1));
    return found == types.end() ? "application/octet-stream" : found->second;
}

std::string tag_of(const std::string &content)
{
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char *>(content.data()), content.size(), digest.data());
    std::string tag = "\"";
    for (std::size_t i = 0; i < 12; ++i) {
        tag += "0123456789abcdef"[digest[i] >> 4];
        tag += "0123456789abcdef"[digest[i] & 15];
    }
    return tag + "\"";
}

}  // namespace

bool Files::has_page() const
{
    return content_of(folder_ + "/index.html").has_value();
}

void Files::serve(const httplib::Request &request, httplib::Response &response) const
{
    const std::string name = request.path == "/" ? "/index.html" : request.path;
    const std::optional<std::string> content =
        is_file_name(name) ? content_of(folder_ + name) : std::nullopt;
    if (!content)
        throw Problem(404, "there is no " + name);
    const std::string tag = tag_of(*content);
    response.set_header("ETag", tag);
    response.set_header("Cache-Control", "no-cache");
    if (request.get_header_value("If-None-Match").find(tag) != std::string::npos)
        response.status = 304;
    else
        response.set_content(*content, type_of(name));
}

}  // namespace hipq::web
