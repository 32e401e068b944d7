// Tables cut into leaves by time (the final jobs of a queue, the attempts): how a leaf is made.
// Keeping the trees in shape over time is maintain_time_tree() (queue_table.hpp).
#pragma once

#include "core/retention/retention.hpp"
#include "tables/queue_table.hpp"

namespace hipq::tables {

// hipq's now in microseconds since the Unix epoch, as core counts.
std::int64_t unix_now();

// Takes from a table of hipq's whatever was given away: from a new one what the default privileges
// of its owner gave. As the extension owner.
void strip_grants(std::string_view table);

// Tables that are made from now on are as hipq makes them, wherever and whatever the session's
// settings want (default_tablespace and the like): until as_hipq ends. Needs as_hipq.
void pin_table_settings();

// The tree of hipq.attempt.
TimeTree attempt_tree();
// The final jobs of a queue.
TimeTree final_tree(const catalog::Queue &queue);

// Makes the default leaf and the leaves needed now below an existing parent without leaves. Needs a
// transaction and as_hipq.
void make_leaves(const TimeTree &tree);

// The same for hipq.attempt if it has none: its leaves are data that users own, so the first queue
// brings them, not the extension.
void make_attempt_leaves_once();

}  // namespace hipq::tables
