// Reads SQL identifiers, quoted or not.
#include "core/text/named_in_sql.hpp"

#include <algorithm>

#include "core/text/characters.hpp"

namespace hipq::core {

namespace {

constexpr std::string_view schema_prefix = "hipq.";
constexpr std::string_view alias_prefix = " AS ";

bool is_part_of_name(char c)
{
    return is_lower(to_lower(c)) || is_digit(c) || c == '_' || c == '$';
}

// Removes the leading quoted text from `rest`; two quotes inside stand for one.
std::string take_quoted(std::string_view &rest)
{
    std::string name;
    for (rest.remove_prefix(1); !rest.empty(); rest.remove_prefix(1)) {
        if (rest.front() == '"') {
            rest.remove_prefix(1);
            if (rest.empty() || rest.front() != '"')
                return name;
        }
        name += rest.front();
    }
    return name;
}

// Removes the leading identifier from `rest`; empty: there is none.
std::string take_name(std::string_view &rest)
{
    if (!rest.empty() && rest.front() == '"')
        return take_quoted(rest);
    const auto end = std::find_if_not(rest.begin(), rest.end(), is_part_of_name);
    const auto length = static_cast<std::size_t>(end - rest.begin());
    std::string name(rest.substr(0, length));
    rest.remove_prefix(length);
    return name;
}

std::string take_alias(std::string_view &rest)
{
    if (!rest.starts_with(alias_prefix))
        return {};
    rest.remove_prefix(alias_prefix.size());
    return take_name(rest);
}

// Excludes the end of another name and the beginning of a string.
bool begins_name(std::string_view sql, std::size_t at)
{
    return at == 0 || !(is_part_of_name(sql[at - 1]) || sql[at - 1] == '.' || sql[at - 1] == '\'' ||
                        sql[at - 1] == '"');
}

}  // namespace

std::vector<NamedTable> tables_named_in(std::string_view sql)
{
    std::vector<NamedTable> tables;
    for (std::size_t at = sql.find(schema_prefix); at != std::string_view::npos;
         at = sql.find(schema_prefix, at + 1)) {
        std::string_view rest = sql.substr(at + schema_prefix.size());
        const std::string name = begins_name(sql, at) ? take_name(rest) : std::string();
        if (name.empty() || rest.starts_with('('))
            continue;  // a function
        const std::string alias = take_alias(rest);
        tables.push_back({name, alias.empty() ? name : alias});
    }
    return tables;
}

NamedColumn column_named_at(std::string_view sql, std::size_t at)
{
    std::string_view rest = sql.substr(std::min(at, sql.size()));
    NamedColumn column{{}, take_name(rest)};
    while (rest.starts_with('.')) {
        rest.remove_prefix(1);
        column = {column.name, take_name(rest)};
    }
    return column;
}

}  // namespace hipq::core
