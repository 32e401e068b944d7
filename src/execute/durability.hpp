// Group durability: commits that do not wait for the disk, and the flush that follows them.
#pragma once

#include "execute/execute.hpp"
#include <cstdint>
#include <optional>

namespace hipq::execute {

// Before a handler that is not known to be short: what was committed does not wait for its end.
void flush_before_long_job(std::optional<std::int64_t> run_time);

// After such a commit: flushes when the oldest one that is not safe yet is 10 ms old.
void flush_if_due();

// Before this process waits or ends: everything it has committed is safe.
void flush_now();

}  // namespace hipq::execute
