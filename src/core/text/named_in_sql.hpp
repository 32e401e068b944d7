// What a statement of hipq's own names: to say of which table something is missing. No parser: it
// reads SQL as hipq writes it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hipq::core {

// A table of schema hipq, and what the statement calls it: without AS its name.
struct NamedTable {
    std::string name;
    std::string alias;
};
std::vector<NamedTable> tables_named_in(std::string_view sql);

// The column that stands at `at` (bytes, from 0), and what it is qualified with; nothing is empty.
struct NamedColumn {
    std::string table;
    std::string name;
};
NamedColumn column_named_at(std::string_view sql, std::size_t at);

}  // namespace hipq::core
