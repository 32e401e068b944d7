// Inserts new jobs into the live leaf of a queue without SQL: the work of INSERT without planning,
// routing, triggers and checks. The caller has applied the rules of new_job.hpp, which are those of
// the trigger.
#pragma once

#include "catalog/cache.hpp"
#include "enqueue/enqueue.hpp"
#include "job/job_row.hpp"

namespace hipq::enqueue {

// Callers with many jobs build and write this many rows at a time, or fewer if these take this much
// memory.
inline constexpr std::size_t rows_at_once = 100;
inline constexpr std::size_t bytes_at_once = 1'000'000;

}  // namespace hipq::enqueue
