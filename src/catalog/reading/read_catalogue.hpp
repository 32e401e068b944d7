// Reads the queues from the tables of the catalogue, without their job types and pauses within
// them, which are read on first use.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

using QueuesByNumber = std::map<int, std::shared_ptr<Queue>>;

// All queues with their present values, which come from the settings where the tables have none.
// Needs a transaction; raises any error of its statements.
QueuesByNumber read_all_queues();

// The same for some queues, without what the maps of shards contribute.
QueuesByNumber read_queues(const std::vector<std::int64_t> &ids);

// The number of the queue with this name, or whose table has this name.
std::optional<int> read_number(std::string_view full_name);

// Whether no queue stands still and no instance has shards.
bool all_queues_are_simple();

// Fill a rate from the texts of its columns.
void fill_rate(core::Rate &rate, std::string_view text);
void fill_rate_mode(core::Rate &rate, std::string_view text);

// An interval in microseconds, capped at 100 years so that none overflows. (least() alone would
// turn NULL into 100 years.)
#define HIPQ_MICROSECONDS(interval)                                                                \
    "CASE WHEN " interval " IS NOT NULL THEN (least(extract(epoch FROM " interval                  \
    "), 3155760000) * 1000000)::bigint END"

}  // namespace hipq::catalog
