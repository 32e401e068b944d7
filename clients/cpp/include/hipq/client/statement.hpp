// Statements and calls of hipq's functions: only the given arguments, each with its name and type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hipq::client {

// The text of a value; none: SQL NULL.
using Value = std::optional<std::string>;

struct Statement {
    std::string text;
    std::vector<Value> values;
};

// Durations are sent as text, which hipq reads: '5 min', or a number of seconds.
inline constexpr const char *duration_type = "text::hipq.duration";

// Builds hipq.name(a => $1::type, ...).
class Call {
public:
    explicit Call(std::string_view name) : text_("hipq." + std::string(name) + "(") {}

    // An argument without a value is left out, so that the function uses its default.
    Call &with(std::string_view name, std::string_view type, Value value)
    {
        if (!value)
            return *this;
        values_.push_back(std::move(value));
        text_ += values_.size() == 1 ? "" : ", ";
        text_ += std::string(name) + " => $" + std::to_string(values_.size()) + "::";
        text_ += type;
        return *this;
    }

    Statement select(std::string_view as) const
    {
        return {"SELECT " + text_ + ")" + std::string(as), values_};
    }
    Statement select_from(std::string_view columns) const
    {
        return {"SELECT " + std::string(columns) + " FROM " + text_ + ")", values_};
    }

private:
    std::string text_;
    std::vector<Value> values_;
};

}  // namespace hipq::client
