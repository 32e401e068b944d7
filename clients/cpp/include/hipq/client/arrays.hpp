// Arrays in PostgreSQL's text format: {1,2}, {"a","say \"b\"",NULL}.
#pragma once

#include "hipq/client/statement.hpp"

#include <set>

namespace hipq::client {

inline std::string quoted_element(std::string_view element)
{
    std::string quoted = "\"";
    for (const char character : element) {
        if (character == '"' || character == '\\')
            quoted += '\\';
        quoted += character;
    }
    return quoted + '"';
}

// Joins elements, each written by a function.
template <typename Elements, typename Write>
std::string array_of(const Elements &elements, Write write)
{
    std::string text = "{";
    for (const auto &element : elements)
        text += (text.size() > 1 ? "," : "") + write(element);
    return text + "}";
}

inline std::string text_array(const std::vector<std::string> &elements)
{
    return array_of(elements, quoted_element);
}

// With elements that may be NULL.
inline std::string value_array(const std::vector<Value> &elements)
{
    return array_of(elements,
                    [](const Value &value) { return value ? quoted_element(*value) : "NULL"; });
}

template <typename Numbers>
std::string number_array(const Numbers &numbers)
{
    return array_of(numbers, [](auto number) { return std::to_string(number); });
}

// The numbers of {1,2,3}, in this order.
inline std::vector<std::int64_t> numbers_of(std::string_view array)
{
    std::vector<std::int64_t> numbers;
    std::string digits;
    for (const char character : array) {
        if ((character >= '0' && character <= '9') || character == '-') {
            digits += character;
        } else if (!digits.empty()) {
            numbers.push_back(std::stoll(digits));
            digits.clear();
        }
    }
    return numbers;
}

inline std::set<std::int64_t> number_set(std::string_view array)
{
    const std::vector<std::int64_t> numbers = numbers_of(array);
    return {numbers.begin(), numbers.end()};
}

}  // namespace hipq::client
