// The tables of a queue: made and dropped. All as the extension owner.
#pragma once

#include "catalog/catalog.hpp"
#include "tables/try_lock.hpp"

namespace hipq::tables {

// Makes and attaches hipq.<table>, its live leaf with indexes and constraints, its final tree with
// the default leaf, ready for queue `queue_id`. Needs a transaction and hipq's permit (as_hipq).
void create_queue_table(int queue_id, std::string_view table, core::UniqueScope scope);

// What the index of the live leaf that keeps keys unique is over, as pg_get_indexdef() has it.
const char *key_index_columns(core::UniqueScope scope);
// Makes that index anew. Needs as_hipq, and the live leaf locked for oneself. 23505 if two jobs
// have one key then.
void remake_key_index(const std::string &table, core::UniqueScope scope);

// Makes a table one of hipq.job's: jobs that are inserted there are queue `queue_id`'s. Needs
// as_hipq.
void attach_queue_table(int queue_id, std::string_view table);

// Drops the tables of a queue, its dead letters, its job types and the queue itself. Its attempts
// stay until their retention is over. Needs a transaction and as_hipq.
void forget_queue(int queue_id, std::string_view table);

// Removes dead letters past their retention, at most `limit`. Needs a transaction. Returns how many
// went.
std::int64_t prune_dead_letters(int limit);

// Marks a queue as dropped, for the scheduler to drop it. All rights on its tables go now: nobody
// may use them any more, and who drops the roles next does not meet a scheduler that works at the
// same tables. Needs a transaction and as_hipq.
void mark_queue_dropped(int queue_id, std::string_view table);

// The queues that drop_queue marked. Own transaction.
struct MarkedQueue {
    int id;
    std::string table;
    Oid relation;      // InvalidOid: there is none any more
    bool is_attached;  // to hipq.job
};
std::vector<MarkedQueue> read_marked_queues();

// Drops one of them, as far as locks allow; true when it is gone. Own transactions, first one that
// takes the queue out of hipq.job: dropping the tables takes much longer, and then only concerns
// who still uses them.
bool drop_marked_queue(const MarkedQueue &queue, Patience &patience);

}  // namespace hipq::tables
