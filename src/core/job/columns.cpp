// Finds and lists the columns of hipq.job.
#include "columns.hpp"

#include <algorithm>
#include <span>

#include "core/text/characters.hpp"

namespace hipq::core {

std::optional<Column> find_column(std::string_view name)
{
    const auto found =
        std::find_if(job_columns.begin(), job_columns.end(),
                     [&](const ColumnDefinition &column) { return column.name == name; });
    if (found == job_columns.end())
        return std::nullopt;
    return static_cast<Column>(found - job_columns.begin());
}

ColumnSet columns_of(ColumnKind kind)
{
    ColumnSet columns;
    for (std::size_t i = 0; i < column_count; ++i)
        columns.set(i, job_columns[i].kind == kind);
    return columns;
}

namespace {

// ", column" or ", prefix.column".
void erase_from_lists(std::string &sql, std::string_view column)
{
    const auto is_of_name = [](char c) {
        return c == '_' || c == '.' || is_lower(c) || is_digit(c);
    };
    std::size_t at = 0;
    while ((at = sql.find(column, at)) != std::string::npos) {
        const std::size_t end = at + column.size();
        std::size_t begin = at;
        while (begin > 0 && is_of_name(sql[begin - 1]))
            --begin;
        const bool is_listed = begin >= 2 && sql.compare(begin - 2, 2, ", ") == 0 &&
                               (begin == at || sql[at - 1] == '.') &&
                               (end == sql.size() || !is_of_name(sql[end]));
        if (is_listed)
            sql.erase(at = begin - 2, end - (begin - 2));
        else
            at = end;
    }
}

}  // namespace

std::string without_new_columns(std::string sql)
{
    for (const ColumnDefinition &column : std::span(job_columns).subspan(columns_before))
        erase_from_lists(sql, column.name);
    return sql;
}

std::string column_list(ColumnKind kind)
{
    std::string list;
    for (const ColumnDefinition &column : job_columns)
        if (column.kind == kind)
            list.append(list.empty() ? "" : ", ").append(column.name);
    return list;
}

}  // namespace hipq::core
