// Finds the tables and columns that one of hipq's own statements names, to report in which table
// something is missing. It is not a parser: it reads SQL as hipq writes it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hipq::core {

// A table of schema hipq, and its alias in the statement; without AS, its name.
struct NamedTable {
    std::string name;
    std::string alias;
};
std::vector<NamedTable> tables_named_in(std::string_view sql);

// The column at byte `at` (from 0), and its qualifier. Empty: there is none.
struct NamedColumn {
    std::string table;
    std::string name;
};
NamedColumn column_named_at(std::string_view sql, std::size_t at);

}  // namespace hipq::core
