// What the extension of a database has. Between the installation of a release and ALTER EXTENSION
// hipq UPDATE it is that of the release before.
#pragma once

#include <string>
#include <string_view>

namespace hipq::program {

// One value: whether the extension has what release 0.3.0 brought.
inline constexpr const char *is_0_3 =
    "SELECT pg_catalog.to_regclass('hipq.graphs') IS NOT NULL AS is_0_3";

// A statement has two texts where an older extension lacks something:
// {0.3? job.waits_for : NULL::text}.
inline constexpr std::string_view choice = "{0.3? ";

inline bool has_choices(const std::string &statement)
{
    return statement.find(choice) != std::string::npos;
}

// The statement with the texts for an extension of 0.3.0 or later, or for an older one.
inline std::string with_choices(std::string statement, bool is_0_3_or_later)
{
    constexpr std::string_view between = " : ";
    std::size_t at = 0;
    while ((at = statement.find(choice, at)) != std::string::npos) {
        const std::size_t first = at + choice.size();
        const std::size_t middle = statement.find(between, first);
        const std::size_t end = statement.find('}', middle);
        if (end == std::string::npos)
            break;
        const std::size_t second = middle + between.size();
        statement.replace(at, end + 1 - at,
                          is_0_3_or_later ? statement.substr(first, middle - first)
                                          : statement.substr(second, end - second));
    }
    return statement;
}

}  // namespace hipq::program
