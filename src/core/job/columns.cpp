// Finds and lists the columns of hipq.job.
#include "core/job/columns.hpp"

#include <algorithm>

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

std::string column_list(ColumnKind kind)
{
    std::string list;
    for (const ColumnDefinition &column : job_columns)
        if (column.kind == kind)
            list.append(list.empty() ? "" : ", ").append(column.name);
    return list;
}

}  // namespace hipq::core
