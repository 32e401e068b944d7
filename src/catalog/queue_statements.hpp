// Statements over the tables of one queue: one constant text for all queues, prepared once per
// queue and process, as long as it is used.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// The statement `text` with {table} and {live} standing for the queue's table and its live leaf.
// `text` is a constant: its address is the key. To be run at once: the next call may free those
// that were used long ago. Needs a transaction.
pg::Statement &statement_for(const Queue &queue, const char *text);

}  // namespace hipq::catalog
