// Tables of queues that have no queue, as a dump without data leaves them: found, checked, taken
// over. All as the extension owner.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::tables {

// Whether hipq.<table> looks like the table of a queue, and no queue has it. Needs a transaction.
bool is_left_table(std::string_view table);

// The number for a new queue with that table: the one that a left table has in hipq.job, or else
// the next that no table there has. Needs as_hipq.
int choose_queue_id(std::string_view table);

// Makes the table of a new queue, or takes over the one that is left: its rights and what hangs on
// it stay. 55000 for one that differs from what hipq makes, or has jobs; see create_queue_table.
void create_or_adopt_queue_table(int queue_id, std::string_view table, core::UniqueScope scope);

}  // namespace hipq::tables
