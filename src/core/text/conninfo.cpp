// Looks for passwords in connection strings, parsed as libpq parses them.
#include "core/text/conninfo.hpp"

#include <algorithm>
#include <array>

namespace hipq::core {

namespace {

constexpr std::array<std::string_view, 3> secret_keywords{"password", "sslpassword",
                                                          "oauth_client_secret"};
constexpr std::string_view spaces = " \t\n\r\f\v";

bool is_secret(std::string_view keyword)
{
    return std::ranges::find(secret_keywords, keyword) != secret_keywords.end();
}

std::size_t past_spaces(std::string_view text, std::size_t place)
{
    return std::min(text.find_first_not_of(spaces, place), text.size());
}

// A value is quoted, or ends at a space; a backslash escapes the next character.
std::size_t past_value(std::string_view text, std::size_t place)
{
    const bool is_quoted = place < text.size() && text[place] == '\'';
    for (std::size_t i = place + (is_quoted ? 1 : 0); i < text.size(); ++i) {
        if (text[i] == '\\')
            ++i;
        else if (is_quoted && text[i] == '\'')
            return i + 1;
        else if (!is_quoted && spaces.find(text[i]) != std::string_view::npos)
            return i;
    }
    return text.size();
}

bool has_secret_keyword(std::string_view text)
{
    for (std::size_t place = past_spaces(text, 0); place < text.size();
         place = past_spaces(text, place)) {
        const std::size_t equals = text.find('=', place);
        if (equals == std::string_view::npos)
            return false;
        std::string_view keyword = text.substr(place, equals - place);
        keyword = keyword.substr(0, keyword.find_first_of(spaces));
        if (is_secret(keyword))
            return true;
        place = past_value(text, past_spaces(text, equals + 1));
    }
    return false;
}

// Checks the parts between "//" and "@", and after "?".
bool has_secret_part(std::string_view uri)
{
    const std::size_t end = std::min(uri.find_first_of("/?"), uri.size());
    const std::string_view authority = uri.substr(0, end);
    const std::size_t at = authority.find('@');
    if (at != std::string_view::npos && authority.substr(0, at).find(':') != std::string_view::npos)
        return true;
    std::size_t place = uri.find('?');
    while (place != std::string_view::npos) {
        const std::string_view parameter = uri.substr(place + 1);
        if (is_secret(parameter.substr(0, parameter.find('='))))
            return true;
        place = uri.find('&', place + 1);
    }
    return false;
}

}  // namespace

bool has_password(std::string_view conninfo)
{
    for (const std::string_view scheme : {"postgresql://", "postgres://"})
        if (conninfo.starts_with(scheme))
            return has_secret_part(conninfo.substr(scheme.size()));
    return has_secret_keyword(conninfo);
}

}  // namespace hipq::core
