// Texts on a terminal: width, cutting and padding; numbers, durations and JSON in readable form.
#include "screens/text.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <cwchar>

namespace hipq::top {

namespace {

struct Character {
    std::string_view bytes;
    wchar_t code = 0;  // 0: invalid UTF-8
};

std::size_t length_by_first(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first < 0xE0)
        return 2;
    if (first >= 0xE0 && first < 0xF0)
        return 3;
    if (first >= 0xF0 && first < 0xF5)
        return 4;
    return 0;
}

Character next_character(std::string_view text)
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::size_t length = length_by_first(byte(0));
    if (length == 0 || length > text.size())
        return {text.substr(0, 1), 0};
    if (length == 1)
        return {text.substr(0, 1), static_cast<wchar_t>(byte(0))};
    unsigned code = byte(0) & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U)
            return {text.substr(0, 1), 0};
        code = code << 6U | (byte(i) & 0x3FU);
    }
    return {text.substr(0, length), static_cast<wchar_t>(code)};
}

// Characters that the C library does not know, and invalid UTF-8, count as one column.
int columns_of(const Character &character)
{
    const int columns = ::wcwidth(character.code);
    return columns < 0 || character.code == 0 ? 1 : columns;
}

std::string number_text(const char *format, double number)
{
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, format, number);
    return buffer;
}

std::string pair_text(long whole, const char *unit, long rest, const char *rest_unit)
{
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%ld%s%02ld%s", whole, unit, rest, rest_unit);
    return buffer;
}

}  // namespace

int width_of(std::string_view text)
{
    int width = 0;
    while (!text.empty()) {
        const Character character = next_character(text);
        width += columns_of(character);
        text.remove_prefix(character.bytes.size());
    }
    return width;
}

std::string one_line(std::string_view text)
{
    std::string result;
    while (!text.empty()) {
        const Character character = next_character(text);
        if (character.code == L'\n' || character.code == L'\t' || character.code == L'\r')
            result += ' ';
        else if (character.code < 0x20 || (character.code >= 0x7F && character.code < 0xA0))
            result += '?';
        else
            result += character.bytes;
        text.remove_prefix(character.bytes.size());
    }
    return result;
}

std::string cut(const std::string &text, int width)
{
    if (width <= 0)
        return "";
    if (width_of(text) <= width)
        return text;
    std::string result;
    int taken = 0;
    std::string_view rest = text;
    while (!rest.empty()) {
        const Character character = next_character(rest);
        if (taken + columns_of(character) > width - 1)
            break;
        taken += columns_of(character);
        result += character.bytes;
        rest.remove_prefix(character.bytes.size());
    }
    return result + "…";
}

std::string fit(const std::string &text, int width, bool at_the_right)
{
    const std::string shown = cut(text, width);
    const std::string space(static_cast<std::size_t>(std::max(0, width - width_of(shown))), ' ');
    return at_the_right ? space + shown : shown + space;
}

std::vector<std::string> wrap(const std::string &text, int width)
{
    std::vector<std::string> lines;
    std::size_t from = 0;
    while (from <= text.size()) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        std::string rest = one_line(text.substr(from, end - from));
        while (width > 1 && width_of(rest) > width) {
            std::string part = cut(rest, width + 1);
            part.resize(part.size() - std::string_view("…").size());
            const std::size_t space = part.rfind(' ');
            const bool at_word = space != std::string::npos && space > part.size() / 2;
            lines.push_back(part.substr(0, at_word ? space : part.size()));
            rest.erase(0, at_word ? space + 1 : part.size());
        }
        lines.push_back(rest);
        from = end + 1;
    }
    return lines;
}

std::string count_text(double number)
{
    if (std::fabs(number) < 100'000)
        return number_text(number == std::floor(number) ? "%.0f" : "%.1f", number);
    if (std::fabs(number) < 999'500)
        return number_text("%.0fk", number / 1e3);
    if (std::fabs(number) < 999.5e6)
        return number_text("%.3gM", number / 1e6);
    return number_text("%.3gG", number / 1e9);
}

std::string plural(double number, const std::string &one)
{
    return count_text(number) + " " + one + (number == 1 ? "" : "s");
}

std::string duration_text(std::optional<double> seconds)
{
    if (!seconds)
        return "-";
    const double length = std::max(0.0, *seconds);
    if (length < 0.9995)
        return number_text("%.0fms", length * 1e3);
    if (length < 9.95)
        return number_text("%.1fs", length);
    const auto whole = static_cast<long>(length);
    if (whole < 60)
        return number_text("%.0fs", length);
    if (whole < 3600)
        return pair_text(whole / 60, "m", whole % 60, "s");
    if (whole < 86'400)
        return pair_text(whole / 3600, "h", whole % 3600 / 60, "m");
    return pair_text(whole / 86'400, "d", whole % 86'400 / 3600, "h");
}

// Numbers keep their text: a double would lose digits.
std::string pretty_json(const std::string &text)
{
    const nlohmann::ordered_json json = nlohmann::ordered_json::parse(text, nullptr, false);
    if (json.is_discarded() || !json.is_structured() || json.empty())
        return text;
    std::string result;
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            result += c;
            if (c == '\\' && i + 1 < text.size())
                result += text[++i];
            else if (c == '"')
                in_string = false;
            continue;
        }
        switch (c) {
        case '"':
            in_string = true;
            result += c;
            break;
        case '{':
        case '[':
            if (i + 1 < text.size() && (text[i + 1] == '}' || text[i + 1] == ']')) {
                result.append(1, c).append(1, text[++i]);
                break;
            }
            result.append(1, c).append(1, '\n').append(2 * ++depth, ' ');
            break;
        case '}':
        case ']':
            result.append(1, '\n').append(2 * --depth, ' ').append(1, c);
            break;
        case ',':
            result.append(",\n").append(2 * depth, ' ');
            if (i + 1 < text.size() && text[i + 1] == ' ')
                ++i;
            break;
        default:
            result += c;
        }
    }
    return result;
}

}  // namespace hipq::top
