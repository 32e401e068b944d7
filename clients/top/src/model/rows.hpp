// Rows of a statement, with columns by name; does not need libpq.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hipq::top {

using Value = std::optional<std::string>;  // none: SQL NULL

struct Rows {
    std::vector<std::string> names;
    std::vector<std::vector<Value>> rows;

    std::size_t size() const { return rows.size(); }
    bool empty() const { return rows.empty(); }

    // A column that does not exist is NULL.
    Value get(std::size_t row, std::string_view column) const
    {
        const auto found = std::find(names.begin(), names.end(), column);
        if (found == names.end() || row >= rows.size())
            return std::nullopt;
        return rows[row][static_cast<std::size_t>(found - names.begin())];
    }
    std::string text(std::size_t row, std::string_view column) const
    {
        return get(row, column).value_or("");
    }
    // NULL is 0.
    double number(std::size_t row, std::string_view column) const
    {
        return std::strtod(text(row, column).c_str(), nullptr);
    }
    bool is_true(std::size_t row, std::string_view column) const
    {
        return text(row, column) == "t";
    }
};

// The outcome of a statement.
struct Answer {
    Rows rows;
    std::string error;  // the server's message; empty: success
    std::string hint;
    std::string sqlstate;
    bool is_lost = false;  // there is no connection

    explicit operator bool() const { return error.empty(); }
};

}  // namespace hipq::top
