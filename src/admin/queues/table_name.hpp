// Gives a new queue's table its name: by the strategy of its instance, or the default.
#pragma once

#include "admin/admin.hpp"
#include "core/text/names.hpp"

#include <string>

namespace hipq::admin {

struct TableName {
    std::string text;
    std::string strategy;  // "NONE": the default
};

// Runs the strategy. Raises its errors with the instance's name, and 42602 if it returns no name.
// Errors of class 57, which end the statement, pass unchanged. Needs a transaction.
TableName table_name_of(const core::QueueName &name);

// Raises 42602 for a name that no table can have, and 42P07 for a name in use, unless a dump has
// left that table without its queue.
void check_table_name(const core::QueueName &name, const TableName &table);

}  // namespace hipq::admin
