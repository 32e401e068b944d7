// What a program says while its job runs: how far it has come, or that it needs more time.
#include "child/said.hpp"

#include <charconv>

#include "child/ending.hpp"

namespace hipq::run {

namespace {

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
    constexpr std::string_view extend = "extend ";
    std::string_view text = line;
    Said said;
    if (text.starts_with(extend)) {
        said.more_time = clean_text(std::string(text.substr(extend.size())));
        return said;
    }
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
