// Statements over the tables of one queue: one constant text for all queues, prepared per queue and
// process and kept as long as it is used.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// Returns the statement `text`, with {table} and {live} replaced by the queue's table and its live
// leaf, and with the conditions on the scope of keys. `text` is a constant; its address is the
// cache key. Run the statement at once: the next call may free statements that have not been used
// for long. Needs a transaction.
//
// {+ ... +} stands for the text between the signs if the queue's keys are unique per shard key, and
// for nothing if they are unique in the whole queue. Within it, {shard key of job} stands for the
// shard key of a row named "job", as a new job of this queue with these values would have it;
// {found shard key of job} is the same for a row whose own column does not give it. (The live leaf
// has it in column shard_key, and in its index as: shard_key COLLATE "C".)
//
// {free job} is the condition that the row "job" waits for no other job, and {held job} that it
// does: the index of the lanes has the one, the index of held jobs the other. {holder job} is
// the condition that it does not wait for the job with its key; {waits_for of job} is the column,
// and {batch_id of job} that of its batch. {, batch_id} and {, batch_id of job} are for lists of
// columns, and so are {, schedule_time} and {, schedule_time of job}. Tables of 0.2.0 lack these
// columns: there no job is held.
pg::Statement &statement_for(const Queue &queue, const char *text);

// The same for a statement that the caller builds itself.
std::string with_scope_of_keys(std::string sql, const Queue &queue);

}  // namespace hipq::catalog
