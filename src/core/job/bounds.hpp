// Bounds on the size of user input for which no more specific rule sets one. This is the only table
// of bounds.
//
// Every stored value must be read again, written into messages, dumped and restored, and one
// tenant's values must not use up the memory of others. Bounds that an administrator may choose are
// settings (hipq.max_job_data).
#pragma once

#include <cstddef>
#include <limits>

namespace hipq::core {

// ---- refused when larger, in bytes

inline constexpr std::size_t most_text = 8'192;  // a text argument, unless a bound below applies
inline constexpr std::size_t most_handler_text = 65'536;  // a handler may be an SQL statement
inline constexpr std::size_t most_time_windows =
    4'096;  // as given; their canonical form has 1,000 at most (the domain)
inline constexpr std::size_t most_cron = 1'000;
inline constexpr std::size_t most_shard_key = 1'000;
inline constexpr std::size_t most_description =
    65'536;  // jsonb that describes something: capabilities, health, db_config

// ---- refused when longer, in elements

inline constexpr std::size_t most_names = 1'000;             // a list of names, or of rules
inline constexpr std::size_t most_jobs_at_once = 1'000'000;  // values for many jobs in one call

// ---- cut when larger, in bytes: reporting a failure must not cause another

inline constexpr std::size_t any_length =
    std::numeric_limits<std::size_t>::max();  // of an argument that is cut

inline constexpr std::size_t most_failure_text =
    8'192;  // an error, its detail, hint and context, a reason
inline constexpr std::size_t most_message = 1'024;  // an error inside a log message

// ---- omitted when there are more: attempts in a dead letter

inline constexpr int first_attempts_kept = 10;
inline constexpr int last_attempts_kept = 40;

// ---- jsonb

// Nesting depth of arrays and objects. max_stack_depth limits what can be read and dumped.
inline constexpr std::size_t most_json_depth = 500;
// The minimum size of a nested array or object: its header, and its entry in its container.
inline constexpr std::size_t bytes_per_level = 8;
// Factor by which a value's text may exceed its bound in bytes: as text, a control character takes
// six bytes, and a number of a few bytes may have 131,072 digits.
inline constexpr std::size_t text_per_byte = 8;
// The greatest factor between a value's text and its bytes.
inline constexpr std::size_t most_text_per_byte = 10'000;
// One line of a dump contains job_data and result, and must stay below 1 GB even if all of it is
// escaped once more.
inline constexpr std::size_t most_json_text = 256'000'000;

}  // namespace hipq::core
