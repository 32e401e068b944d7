// Creates and drops the tables of a queue. All as the extension owner.
#pragma once

#include "core/shards/route.hpp"
#include "tables/try_lock.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hipq::tables {

// Creates and attaches hipq.<table>, its live leaf with indexes and constraints, and its final tree
// with the default leaf, ready for queue `queue_id`. Needs a transaction and hipq's permit
// (as_hipq).
void create_queue_table(int queue_id, std::string_view table, core::UniqueScope scope);

// From now on new pages of the queue's live leaf have room for a second version of each row, so
// that a claim that writes the row changes no index. Call inside as_hipq() only.
// Makes the index by which the jobs of a throttle key are read, if the live leaf has none. Returns
// false if another session's lock prevents it. It blocks writers while it is made, about a second
// for a million jobs. For the scheduler; no transaction may be open.
[[nodiscard]] bool index_throttle_keys(const std::string &table, Patience &patience);

void leave_room_for_claims(std::string_view table);

// The columns of the unique index over keys of the live leaf, as pg_get_indexdef() prints them.
const char *key_index_columns(core::UniqueScope scope);
// Recreates that index. Raises 23505 if two jobs have the same key. Call inside as_hipq() only,
// with the live leaf locked exclusively.
void remake_key_index(const std::string &table, core::UniqueScope scope);

// Attaches a table to hipq.job; jobs inserted into it belong to queue `queue_id`. Call inside
// as_hipq() only.
void attach_queue_table(int queue_id, std::string_view table);

// Drops the tables of a queue and deletes its dead letters, its job types and the queue itself. Its
// attempts stay until their retention ends. Needs a transaction; call inside as_hipq() only.
void forget_queue(int queue_id, std::string_view table);

// Deletes dead letters past their retention, at most `limit`, and returns their number. Needs a
// transaction.
std::int64_t prune_dead_letters(int limit);

// Marks a queue as dropped; the scheduler drops it later. Revokes all rights on its tables now: the
// tables must not be used any more, and a later DROP ROLE does not collide with a scheduler that
// works on the same tables. Needs a transaction; call inside as_hipq() only.
void mark_queue_dropped(int queue_id, std::string_view table);

// The queues that drop_queue() has marked. Runs its own transaction.
struct MarkedQueue {
    int id;
    std::string table;
    Oid relation;      // InvalidOid: it no longer exists
    bool is_attached;  // to hipq.job
};
std::vector<MarkedQueue> read_marked_queues();

// Drops one of them as far as locks allow; returns true when it is gone. Runs its own transactions.
// The first detaches the queue from hipq.job: dropping the tables takes much longer, and then
// affects only sessions that still use them.
[[nodiscard]] bool drop_marked_queue(const MarkedQueue &queue, Patience &patience);

}  // namespace hipq::tables
