// Classifies ASCII characters. The functions of <cctype> are unsuitable: they depend on the locale.
#pragma once

#include <algorithm>
#include <string_view>

namespace hipq::core {

constexpr bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

constexpr bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

constexpr bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

constexpr char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool equals_ignoring_case(std::string_view a, std::string_view b)
{
    return std::ranges::equal(a, b, {}, to_lower, to_lower);
}

}  // namespace hipq::core
