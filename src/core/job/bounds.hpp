// How large what users hand over may be, where the rules of its kind do not bound it: the one table
// of bounds.
//
// Everything stored has to be read again, written into messages, dumped and restored, and one
// tenant's values must not cost the others' memory. Bounds that an administrator may choose are
// settings (hipq.max_job_data).
#pragma once

#include <cstddef>
#include <limits>

namespace hipq::core {

// ---- refused when larger, in bytes

inline constexpr std::size_t most_text = 8'192;  // a text argument, unless one of these holds
inline constexpr std::size_t most_handler_text = 65'536;  // a handler may be an SQL statement
inline constexpr std::size_t most_time_windows =
    4'096;  // as given; their canonical form has 1,000 at most (the domain)
inline constexpr std::size_t most_cron = 1'000;
inline constexpr std::size_t most_shard_key = 1'000;
inline constexpr std::size_t most_description =
    65'536;  // jsonb that describes something: capabilities, health, db_config

// ---- refused when longer, in elements

inline constexpr std::size_t most_names = 1'000;  // a list of names, or of rules
inline constexpr std::size_t most_jobs_at_once =
    1'000'000;  // what is said of many jobs in one call

// ---- cut when larger, in bytes: what failed is no reason to fail again

inline constexpr std::size_t any_length =
    std::numeric_limits<std::size_t>::max();  // of an argument that is cut

inline constexpr std::size_t most_failure_text =
    8'192;  // an error, its detail, hint and context, a reason
inline constexpr std::size_t most_message = 1'024;  // an error within a message of the log

// ---- left out when more: attempts in a dead letter

inline constexpr int first_attempts_kept = 10;
inline constexpr int last_attempts_kept = 40;

// ---- jsonb

// Arrays and objects within each other: what can be read and dumped follows from max_stack_depth.
inline constexpr std::size_t most_json_depth = 500;
// A nested array or object takes so many bytes at least: its header, and its entry in what it
// stands in.
inline constexpr std::size_t bytes_per_level = 8;
// Written as text a value may be so many times larger than its bound in bytes: a control character
// takes six bytes, and a number of a few bytes may have 131,072 digits.
inline constexpr std::size_t text_per_byte = 8;
// No value is larger as text than so many times its bytes.
inline constexpr std::size_t most_text_per_byte = 10'000;
// One line of a dump has job_data and result, and must stay below 1 GB whatever is escaped in it
// once more.
inline constexpr std::size_t most_json_text = 256'000'000;

}  // namespace hipq::core
