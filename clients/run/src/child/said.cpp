// Messages of a program while its job runs: its progress, a request for more time, or the delay of
// a retry if it fails.
#include "child/said.hpp"

#include <charconv>

#include "child/ending.hpp"

namespace hipq::run {

namespace {

// The text after these words.
std::optional<std::string> text_after(std::string_view words, std::string_view line)
{
    if (!line.starts_with(words))
        return std::nullopt;
    return clean_text(std::string(line.substr(words.size())));
}

std::optional<std::int64_t> take_number(std::string_view &text)
{
    std::int64_t number = 0;
    const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc() || number < 0)
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return number;
}

}  // namespace

std::optional<Said> read_said(const std::string &line)
{
    std::string_view text = line;
    Said said;
    said.more_time = text_after("extend ", text);
    said.retry_after = text_after("retry after ", text);
    if (said.more_time || said.retry_after)
        return said;
    const auto done = take_number(text);
    if (!done)
        return std::nullopt;
    said.done = *done;
    if (text.starts_with("/")) {
        text.remove_prefix(1);
        said.total = take_number(text);
        if (!said.total)
            return std::nullopt;
    }
    if (!text.empty() && !text.starts_with(" "))
        return std::nullopt;
    if (text.size() > 1)
        said.message = clean_text(std::string(text.substr(1)));
    return said;
}

}  // namespace hipq::run
