// The parameters that a job type declares: what a declaration may contain, and what a job's data
// must have.
#pragma once

#include <bitset>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/job/validate.hpp"

namespace hipq::core {

// `integer` is a number without fraction, however it is written.
enum class JsonKind : unsigned char { null, boolean, integer, number, string, array, object };
inline constexpr std::size_t json_kind_count = 7;
using JsonKinds = std::bitset<json_kind_count>;

std::string_view name(JsonKind kind);
std::optional<JsonKind> parse_json_kind(std::string_view text);

// A member of an object, as far as declarations need it.
struct JsonMember {
    std::string name;
    JsonKind kind;
    std::vector<std::string> words{};  // of a string: the string; of an array: its elements
    bool has_words_only = true;        // of an array: all elements are strings
    bool is_true = false;
};

struct JobParameter {
    std::string name;
    JsonKinds kinds{};  // none: any
    bool is_required = false;
    bool has_default = false;
    bool is_secret = false;  // hidden in views
};

// Reads the declaration of a parameter: its type (one or several), required, default and secret.
// Returns the parameter, or what is wrong with the declaration.
std::variant<JobParameter, Problem> read_parameter(const std::string &name,
                                                   std::span<const JsonMember> declared);
// The declaration of a parameter is not an object.
Problem not_a_declaration(std::string_view name, JsonKind found);

// Returns what is wrong with the value of a parameter, or with its absence.
std::optional<Problem> check_parameter(const JobParameter &parameter, std::optional<JsonKind> found,
                                       std::string_view job_type);
// job_data has no members, but its type has parameters.
Problem not_an_object(JsonKind found, std::string_view job_type);

// Shown in views instead of a secret value.
inline constexpr std::string_view masked_text = "***";

}  // namespace hipq::core
