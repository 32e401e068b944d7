// The error of a failed attempt, as a text that every server accepts. The rule is in
// docs/reference/external-workers.md#error-texts, and is the same in all clients.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

namespace hipq::client {

// U+FFFD for NUL and for invalid UTF-8.
inline std::string clean_text(const std::string &text)
{
    using nlohmann::json;
    std::string clean;
    for (const char character : text)
        clean += character == '\0' ? std::string("\xEF\xBF\xBD") : std::string(1, character);
    return json::parse(json(clean).dump(-1, ' ', false, json::error_handler_t::replace));
}

// The beginning; the server keeps 8 kB.
inline std::string error_text(const std::string &error)
{
    return clean_text(error.substr(0, 10'000));
}

// With \u20ac for the euro sign: for a database whose encoding lacks characters.
inline std::string in_ascii(const std::string &text)
{
    const auto is_ascii = [](char character) { return (character & 0x80) == 0; };
    std::string ascii;
    for (auto next = text.begin(); next != text.end();) {
        const auto beyond = std::find_if_not(next, text.end(), is_ascii);
        ascii.append(next, beyond);
        next = std::find_if(beyond, text.end(), is_ascii);
        const std::string quoted = nlohmann::json(std::string(beyond, next)).dump(-1, ' ', true);
        ascii += quoted.substr(1, quoted.size() - 2);
    }
    return ascii;
}

}  // namespace hipq::client
