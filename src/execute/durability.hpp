// Group durability: commits that do not wait for the disk, and the flush that follows them.
#pragma once

#include "execute/execute.hpp"
#include <cstdint>
#include <optional>

namespace hipq::execute {

// Call before a handler that is not known to be short: earlier commits do not wait for its end.
void flush_before_long_job(std::optional<std::int64_t> run_time);

// Call after commit_without_waiting() and its commit: flushes when the oldest unflushed commit is
// 10 ms old.
void flush_if_due();

// Call before this process waits or ends: makes everything durable that it has committed.
void flush_now();

}  // namespace hipq::execute
