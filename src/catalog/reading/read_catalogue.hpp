// Reads the tables of the catalogue: queues, without what is read when somebody asks for it.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

using QueuesByNumber = std::map<int, std::shared_ptr<Queue>>;

// What the tables say now, and the settings where they say nothing. Needs a transaction; raises
// what the statements raise.
QueuesByNumber read_all_queues();

// The same of some, but for what maps of shards say of them.
QueuesByNumber read_queues(const std::vector<std::int64_t> &ids);

// An interval in microseconds, cut at 100 years so that none overflows. (least() alone would take
// NULL for 100 years.)
#define HIPQ_MICROSECONDS(interval)                                                                \
    "CASE WHEN " interval " IS NOT NULL THEN (least(extract(epoch FROM " interval                  \
    "), 3155760000) * 1000000)::bigint END"

}  // namespace hipq::catalog
