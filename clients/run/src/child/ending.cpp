// The answer for a job after its program has ended, from the exit code and the output.
#include "child/ending.hpp"

#include <nlohmann/json.hpp>

#include <cstring>

namespace hipq::run {

using nlohmann::json;

namespace {

constexpr const char *white = " \t\r\n";

std::string trimmed_end(std::string text)
{
    text.erase(text.find_last_not_of(white) + 1);
    return text;
}

std::string status_text(ExitStatus status)
{
    if (status.signal == 0)
        return "exit code " + std::to_string(status.code);
    return "killed by signal " + std::to_string(status.signal) + " (" + ::strsignal(status.signal) +
           ")";
}

// Cuts each number to two digits, because nlohmann reads only numbers that fit a double.
std::string with_short_numbers(const std::string &text)
{
    std::string shortened;
    bool is_in_string = false;
    int digits = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        is_in_string ^= text[i] == '"';
        const bool is_digit = !is_in_string && text[i] >= '0' && text[i] <= '9';
        digits = is_digit ? digits + 1 : 0;
        if (digits > 2)
            continue;
        shortened += text[i];
        if (is_in_string && text[i] == '\\' && i + 1 < text.size())
            shortened += text[++i];
    }
    return shortened;
}

}  // namespace

std::string without_mark(const std::string &text)
{
    return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

std::string result_of(const std::string &out)
{
    std::string text = trimmed_end(without_mark(out));
    if (text.empty())
        return "null";
    // The original text: numbers keep all their digits.
    if (json::accept(with_short_numbers(text)))
        return text;
    return json(clean_text(text)).dump();
}

std::string error_of(ExitStatus status, const std::string &error_tail)
{
    const std::string said = trimmed_end(clean_text(error_tail));
    return status_text(status) + (said.empty() ? "" : ": " + said);
}

namespace {

Ending ending_by(ExitStatus status, const Output &output, bool failure_is_final)
{
    const std::string error = error_of(status, output.error_tail);
    if (status.signal != 0)
        return {Ending::Kind::fail, error, !failure_is_final};
    switch (status.code) {
    case 0:
        if (output.is_too_long)
            return {Ending::Kind::fail, "the result is longer than --max-output allows", false};
        return {Ending::Kind::complete, result_of(output.out)};
    case exit_retriable:
        return {Ending::Kind::fail, error, true};
    case exit_permanent:
        return {Ending::Kind::fail, error, false};
    default:
        return {Ending::Kind::fail, error, !failure_is_final};
    }
}

}  // namespace

Ending ending_of(ExitStatus status, const Output &output, bool failure_is_final)
{
    Ending ending = ending_by(status, output, failure_is_final);
    ending.status = status;
    return ending;
}

}  // namespace hipq::run
