// The name of a new queue's table: by the strategy of its instance, or by default.
#pragma once

#include "core/text/names.hpp"

#include <string>

namespace hipq::admin {

struct TableName {
    std::string text;
    std::string strategy;  // "NONE": the default
};

// Runs the strategy. Raises what it raises, saying whose strategy it is, and 42602 where it gives
// no name. Class 57, the end of the statement, passes as it is. Needs a transaction.
TableName table_name_of(const core::QueueName &name);

// While one lives, no strategy runs in this process, and tables have their names by default.
class DefaultNamesOnly {
public:
    DefaultNamesOnly();
    ~DefaultNamesOnly();
    DefaultNamesOnly(const DefaultNamesOnly &) = delete;
    DefaultNamesOnly &operator=(const DefaultNamesOnly &) = delete;

private:
    bool before_;
};

// 42602 for a name that cannot be a table's, 42P07 for one that is in use; not if a dump has left
// that table without its queue.
void check_table_name(const core::QueueName &name, const TableName &table);

}  // namespace hipq::admin
