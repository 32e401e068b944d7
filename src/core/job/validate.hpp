// Checks values that users choose for a job. Each check returns nothing if the value is valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hipq::core {

// `message` and `hint` are texts for the user in PostgreSQL's style (message: lower case, no
// period; hint: a sentence).
struct Problem {
    enum class Kind : unsigned char { invalid_value, too_large } kind;  // SQLSTATE 22023 or 54000
    std::string message;
    std::string hint;
};

inline constexpr std::size_t max_job_key_length = 1000;  // bytes; must fit into an index entry
inline constexpr std::size_t max_throttle_key_length = 1000;
inline constexpr std::size_t max_batch_size = 1000;
inline constexpr std::string_view none_text =
    "NONE";  // in a text column: no value, no key, no error

// What users see of such a column.
inline std::optional<std::string> unless_none(std::string_view text)
{
    return text == none_text ? std::nullopt : std::optional<std::string>(text);
}

std::optional<Problem> check_seconds(std::int64_t seconds, std::string_view field,
                                     std::int64_t least = 1);        // least .. 2^31 - 1
std::optional<Problem> check_timeout(std::int64_t seconds);          // 1 .. 2^31 - 1
std::optional<Problem> check_queue_ttl(std::int64_t seconds);        // the same
std::optional<Problem> check_queue_weight(std::int64_t weight);      // 1 .. greatest_queue_weight
std::optional<Problem> check_max_retries(std::int64_t retries);      // 0 .. 1000000
std::optional<Problem> check_dead_letter_max(std::int64_t letters);  // 1 .. 2^31 - 1
std::optional<Problem> check_batch_size(std::int64_t jobs);          // 1 .. max_batch_size
std::optional<Problem>
check_throttle_factor(double factor);  // finite, 0 <= factor < 1000000 (numeric(9,3))
// finite, 0 <= limit < 1000000000
std::optional<Problem> check_throttle_limit(double limit);
std::optional<Problem> check_throttle_limit(double limit, std::string_view field);
std::optional<Problem> check_job_key(std::string_view key);  // 1 .. max_job_key_length bytes
std::optional<Problem>
check_throttle_key(std::string_view key);  // 1 .. max_throttle_key_length bytes
std::optional<Problem> check_job_type(std::string_view job_type);  // core/text/names.hpp
std::optional<Problem> check_worker_name(std::string_view name);  // the same rules as for job types
// In the format of W3C Trace Context: version, trace id, parent id and flags, in lower-case
// hexadecimal digits. is_traceparent() and the hint are for code that must not throw.
bool is_traceparent(std::string_view text) noexcept;
inline constexpr const char *traceparent_hint =
    "Give version, trace id, parent id and flags as W3C Trace Context has them: "
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.";
std::optional<Problem> check_traceparent(std::string_view traceparent);
std::optional<Problem> check_job_data_size(std::size_t bytes, std::size_t limit);
std::optional<Problem> check_result_size(std::size_t bytes, std::size_t limit);  // of a job
std::optional<Problem> check_priority(std::int64_t priority);                    // smallint
std::optional<Problem> check_priority(std::int64_t priority, std::string_view field);

// For values that have a bound in bounds.hpp.
std::optional<Problem> check_size_of(const char *what, std::size_t bytes, std::size_t limit);
std::optional<Problem> check_count_of(const char *what, std::size_t count, std::size_t limit);

// For jsonb: its nesting depth, and its size as text.
std::optional<Problem> check_json_depth(const char *what, std::size_t depth, std::size_t limit);
std::optional<Problem> check_json_text_size(const char *what, std::size_t bytes, std::size_t limit);
// Returns whether a jsonb value of that many bytes may exceed one of these limits. A small value
// need not be examined.
bool may_exceed(std::size_t bytes, std::size_t most_depth, std::size_t most_bytes_of_text);
// Returns the greatest size as text of a jsonb value that may have `most_bytes` bytes.
std::size_t most_text_of_json(std::size_t most_bytes);

}  // namespace hipq::core
