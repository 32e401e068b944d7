// Tells JSON from plain strings by their first characters.
#include "core/text/json_text.hpp"

#include <optional>

#include "core/text/characters.hpp"

namespace hipq::core {

namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text)
{
    const std::size_t start = text.find_first_not_of(blanks);
    if (start == std::string_view::npos)
        return {};
    return text.substr(start, text.find_last_not_of(blanks) - start + 1);
}

// Skips characters that look like blanks in UTF-8 but are none in JSON: U+FEFF, a byte order mark,
// and U+00A0, a no-break space.
std::string_view without_false_blanks(std::string_view text)
{
    for (;;) {
        const auto taken = text.starts_with("\xef\xbb\xbf") ? 3
                           : text.starts_with("\xc2\xa0")   ? 2
                                                            : text.find_first_not_of(blanks);
        if (taken == 0 || taken == std::string_view::npos)
            return text;
        text.remove_prefix(taken);
    }
}

// Removes leading digits; returns whether there were any.
bool take_digits(std::string_view &text)
{
    std::size_t count = 0;
    while (count < text.size() && is_digit(text[count]))
        ++count;
    text.remove_prefix(count);
    return count > 0;
}

bool take(std::string_view &text, std::string_view characters)
{
    if (text.empty() || characters.find(text.front()) == std::string_view::npos)
        return false;
    text.remove_prefix(1);
    return true;
}

// RFC 8259, section 6.
bool is_number(std::string_view text)
{
    take(text, "-");
    const bool leading_zero = !text.empty() && text.front() == '0';
    if (leading_zero)
        text.remove_prefix(1);
    else if (!take_digits(text))
        return false;
    if (take(text, ".") && !take_digits(text))
        return false;
    if (take(text, "eE")) {
        take(text, "+-");
        if (!take_digits(text))
            return false;
    }
    return text.empty();
}

// Returns what follows the leading JSON string; nothing if the string does not end.
std::optional<std::string_view> after_string(std::string_view text)
{
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == '\\')
            ++i;
        else if (text[i] == '"')
            return trimmed(text.substr(i + 1));
    }
    return std::nullopt;
}

// A quoted word followed by more words. After a mistake in JSON (missing braces), one of JSON's own
// characters would follow.
bool is_quotation(std::string_view text)
{
    const auto rest = after_string(text);
    return rest.has_value() && !rest->empty() &&
           std::string_view(",:]}").find(rest->front()) == std::string_view::npos;
}

}  // namespace

bool reads_as_json(std::string_view text)
{
    const std::string_view content = trimmed(text);
    if (content.empty())
        return false;
    const std::string_view visible = without_false_blanks(content);
    if (visible.starts_with('{') || visible.starts_with('['))
        return true;
    if (content.front() == '"')
        return !is_quotation(content);
    return content == "true" || content == "false" || content == "null" || is_number(content);
}

}  // namespace hipq::core
