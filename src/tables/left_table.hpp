// Tables of queues without a queue, as a dump without data leaves them: finds, checks and adopts
// them. All as the extension owner.
#pragma once
#include "core/shards/route.hpp"

namespace hipq::tables {

// Whether hipq.<table> looks like the table of a queue and belongs to no queue. Needs a
// transaction.
bool is_left_table(std::string_view table);

// Returns the number for a new queue with that table: the one that an existing table has in
// hipq.job, otherwise the next one that no table has there. Call inside as_hipq() only.
int choose_queue_id(std::string_view table);

// Creates the table of a new queue, or adopts the existing one, which keeps its rights and
// dependent objects. Raises 55000 for a table that differs from what hipq creates, or that has
// jobs; see create_queue_table().
void create_or_adopt_queue_table(int queue_id, std::string_view table, core::UniqueScope scope);

}  // namespace hipq::tables
