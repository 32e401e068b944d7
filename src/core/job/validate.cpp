// Checks the values that users choose for a job, and words the messages about them.
#include "core/job/validate.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "core/job/bounds.hpp"
#include "core/limits/fair_share.hpp"
#include "core/text/characters.hpp"
#include "core/text/names.hpp"

namespace hipq::core {

namespace {

constexpr std::int64_t largest_integer = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t most_retries = 1'000'000;
constexpr double throttle_factor_end = 1e6;
constexpr double throttle_limit_end = 1e9;

// The shortest text that reads back as the number.
std::string text_of(double number)
{
    std::array<char, 32> buffer;
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
    return {buffer.data(), result.ptr};
}

Problem out_of_range(std::string_view field, const std::string &value, std::string hint)
{
    return {Problem::Kind::invalid_value, std::string{field} + " " + value + " is out of range",
            std::move(hint)};
}

std::optional<Problem> check_between(std::string_view field, std::int64_t value, std::int64_t least,
                                     std::int64_t most, std::string_view unit)
{
    if (value >= least && value <= most)
        return std::nullopt;
    return out_of_range(field, std::to_string(value),
                        "Give a number" + std::string{unit} + " between " + std::to_string(least) +
                            " and " + std::to_string(most) + ".");
}

Problem weight_out_of_range(std::string_view field, double value, double end)
{
    return out_of_range(field, text_of(value),
                        "Give a number that is at least 0 and less than " +
                            std::to_string(std::llround(end)) + ".");
}

std::optional<Problem> check_key(std::string_view field, std::string_view key, std::size_t longest)
{
    const std::string subject{field};
    if (key.empty()) {
        return Problem{Problem::Kind::invalid_value, subject + " must not be empty",
                       "Use \"" + std::string{none_text} + "\" for a job without one."};
    }
    if (key.size() > longest) {
        return Problem{Problem::Kind::too_large,
                       subject + " of " + std::to_string(key.size()) + " bytes is too long",
                       "The limit is " + std::to_string(longest) +
                           " bytes; store a hash of a longer one."};
    }
    return std::nullopt;
}

std::optional<Problem> check_size(const char *what, std::size_t bytes, std::size_t limit)
{
    if (bytes <= limit)
        return std::nullopt;
    return Problem{Problem::Kind::too_large,
                   what + (" of " + std::to_string(bytes)) + " bytes is too large",
                   "The limit is " + std::to_string(limit) +
                       " bytes; store the data in a table and pass its key."};
}

}  // namespace

std::optional<Problem> check_seconds(std::int64_t seconds, std::string_view field,
                                     std::int64_t least)
{
    return check_between(field, seconds, least, largest_integer, " of seconds");
}

std::optional<Problem> check_timeout(std::int64_t seconds)
{
    return check_seconds(seconds, "timeout");
}

std::optional<Problem> check_queue_ttl(std::int64_t seconds)
{
    return check_seconds(seconds, "queue_ttl");
}

std::optional<Problem> check_queue_weight(std::int64_t weight)
{
    return check_between("weight", weight, 1, greatest_queue_weight, "");
}

std::optional<Problem> check_max_retries(std::int64_t retries)
{
    return check_between("max_retries", retries, 0, most_retries, "");
}

std::optional<Problem> check_dead_letter_max(std::int64_t letters)
{
    return check_between("dead_letter_max", letters, 1, largest_integer, "");
}

std::optional<Problem> check_batch_size(std::int64_t jobs)
{
    return check_between("batch_size", jobs, 1, max_batch_size, "");
}

std::optional<Problem> check_throttle_factor(double factor)
{
    constexpr double thousandths = 1000;
    const double kept = std::round(factor * thousandths) / thousandths;
    if (factor > 0 && kept == 0)
        return out_of_range(
            "throttle_factor", text_of(factor),
            "It is kept with three decimals. Give at least 0.001, or 0 for a job that is free.");
    if (factor >= 0 && kept < throttle_factor_end)  // written so that NaN fails
        return std::nullopt;
    return weight_out_of_range("throttle_factor", factor, throttle_factor_end);
}

std::optional<Problem> check_throttle_limit(double limit)
{
    return check_throttle_limit(limit, "throttle_limit");
}

std::optional<Problem> check_throttle_limit(double limit, std::string_view field)
{
    if (std::abs(limit) < throttle_limit_end)  // written so that NaN fails
        return std::nullopt;
    return out_of_range(field, text_of(limit),
                        "Give a number of less than 1000000000; below 1 there is no limit.");
}

std::optional<Problem> check_job_key(std::string_view key)
{
    return check_key("job_key", key, max_job_key_length);
}

std::optional<Problem> check_throttle_key(std::string_view key)
{
    return check_key("throttle_key", key, max_throttle_key_length);
}

std::optional<Problem> check_job_type(std::string_view job_type)
{
    if (is_valid_job_type(job_type))
        return std::nullopt;
    // Not quoted: the mistake is its length or its control characters, and neither belongs in a log
    // line.
    return Problem{Problem::Kind::invalid_value,
                   job_type.empty() ? "job_type must not be empty" : "job_type is not a valid name",
                   "A job type has 1 to " + std::to_string(max_identifier_length) +
                       " bytes and no control characters."};
}

std::optional<Problem> check_worker_name(std::string_view name)
{
    if (is_valid_job_type(name))
        return std::nullopt;
    return Problem{Problem::Kind::invalid_value,
                   name.empty() ? "name must not be empty" : "name is not a valid name",
                   "A worker's name has 1 to " + std::to_string(max_identifier_length) +
                       " bytes and no control characters."};
}

// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", as defined in
// https://www.w3.org/TR/trace-context/#traceparent-header, which makes all-zero ids and version ff
// invalid. Later versions may have more fields, whose meaning is unknown.
bool is_traceparent(std::string_view text) noexcept
{
    constexpr std::string_view shape = "vv-tttttttttttttttttttttttttttttttt-pppppppppppppppp-ff";
    constexpr std::string_view zeros = "00000000000000000000000000000000";
    const auto fits = [](char c, char wanted) {
        return wanted == '-' ? c == '-' : is_digit(c) || (c >= 'a' && c <= 'f');
    };
    if (!std::equal(text.begin(), text.end(), shape.begin(), shape.end(), fits))
        return false;
    return text.substr(0, 2) != "ff" && text.substr(3, 32) != zeros &&
           text.substr(36, 16) != zeros.substr(0, 16);
}

std::optional<Problem> check_traceparent(std::string_view traceparent)
{
    if (is_traceparent(traceparent))
        return std::nullopt;
    return Problem{Problem::Kind::invalid_value, "traceparent is not valid", traceparent_hint};
}

std::optional<Problem> check_size_of(const char *what, std::size_t bytes, std::size_t limit)
{
    if (bytes <= limit)
        return std::nullopt;
    return Problem{Problem::Kind::too_large,
                   what + (" of " + std::to_string(bytes)) + " bytes is too large",
                   "The limit is " + std::to_string(limit) + " bytes."};
}

std::optional<Problem> check_json_depth(const char *what, std::size_t depth, std::size_t limit)
{
    if (depth <= limit)
        return std::nullopt;
    return Problem{Problem::Kind::too_large, std::string(what) + " is nested too deeply",
                   "The limit is " + std::to_string(limit) +
                       " arrays and objects within each other."};
}

std::optional<Problem> check_json_text_size(const char *what, std::size_t bytes, std::size_t limit)
{
    if (bytes <= limit)
        return std::nullopt;
    return Problem{Problem::Kind::too_large, std::string(what) + " is too large as text",
                   "The limit is " + std::to_string(limit) +
                       " bytes, with all digits of its numbers."};
}

std::optional<Problem> check_count_of(const char *what, std::size_t count, std::size_t limit)
{
    if (count <= limit)
        return std::nullopt;
    return Problem{Problem::Kind::too_large,
                   std::string(what) + " has too many elements: " + std::to_string(count),
                   "The limit is " + std::to_string(limit) + "."};
}

bool may_exceed(std::size_t bytes, std::size_t most_depth, std::size_t most_bytes_of_text)
{
    return bytes > most_depth * bytes_per_level || bytes > most_bytes_of_text / most_text_per_byte;
}

std::size_t most_text_of_json(std::size_t most_bytes)
{
    return std::min(most_bytes * text_per_byte, most_json_text);
}

std::optional<Problem> check_job_data_size(std::size_t bytes, std::size_t limit)
{
    return check_size("job_data", bytes, limit);
}

std::optional<Problem> check_result_size(std::size_t bytes, std::size_t limit)
{
    return check_size("result", bytes, limit);
}

std::optional<Problem> check_priority(std::int64_t priority)
{
    return check_priority(priority, "priority");
}

std::optional<Problem> check_priority(std::int64_t priority, std::string_view field)
{
    return check_between(field, priority, std::numeric_limits<std::int16_t>::min(),
                         std::numeric_limits<std::int16_t>::max(), "");
}

}  // namespace hipq::core
