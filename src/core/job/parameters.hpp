// The parameters that a job type declares: what a declaration may say, and what a job's data has to
// have.
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

// `integer` is a number without fraction, whatever it is written like.
enum class JsonKind : unsigned char { null, boolean, integer, number, string, array, object };
inline constexpr std::size_t json_kind_count = 7;
using JsonKinds = std::bitset<json_kind_count>;

std::string_view name(JsonKind kind);
std::optional<JsonKind> parse_json_kind(std::string_view text);

// A member of an object, as far as a declaration may have to do with it.
struct JsonMember {
    std::string name;
    JsonKind kind;
    std::vector<std::string> words{};  // of a string: itself; of an array: its elements
    bool has_words_only = true;        // of an array: its elements are strings
    bool is_true = false;
};

struct JobParameter {
    std::string name;
    JsonKinds kinds{};  // none: any
    bool is_required = false;
    bool has_default = false;
    bool is_secret = false;  // views do not show it
};

// A parameter by what is declared of it, or what is wrong with that: its type (one or several),
// required, default and secret.
std::variant<JobParameter, Problem> read_parameter(const std::string &name,
                                                   std::span<const JsonMember> declared);
// What is declared in the place of that is no object.
Problem not_a_declaration(std::string_view name, JsonKind found);

// What is wrong with the value of a parameter, or with its absence.
std::optional<Problem> check_parameter(const JobParameter &parameter, std::optional<JsonKind> found,
                                       std::string_view job_type);
// job_data that has no members, of a type with parameters.
Problem not_an_object(JsonKind found, std::string_view job_type);

// What views show of a secret one.
inline constexpr std::string_view masked_text = "***";

}  // namespace hipq::core
