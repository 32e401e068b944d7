// Statements over the tables of one queue: one constant text for all queues, prepared once per
// queue and process, as long as it is used.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// The statement `text` with {table} and {live} standing for the queue's table and its live leaf,
// and with its conditions on the scope of keys.
// `text` is a constant: its address is the key. To be run at once: the next call may free those
// that were used long ago. Needs a transaction.
//
// {+ ... +} stands for what is between where the queue's keys are unique for each shard key, and
// for nothing where they are unique in the whole queue. In it {shard key of job} stands for that of
// a row named "job", as a new job of this queue with these values would have it;
// {found shard key of job} is the same of a row whose own column says nothing of it. (The live leaf
// has it in column shard_key, and in its index as: shard_key COLLATE "C".)
pg::Statement &statement_for(const Queue &queue, const char *text);

// The same of a statement that is made otherwise.
std::string with_scope_of_keys(std::string sql, const Queue &queue);

}  // namespace hipq::catalog
