// Group durability: commits that do not wait for the disk, and the flush that follows them.
#pragma once

#include <cstdint>
#include <optional>

namespace hipq::execute {

// In the transaction that is about to commit: it does not wait for the disk. What waits for it is
// told of it only after a flush: a commit that sends notifications is flushed before they go out.
void commit_without_waiting();

// Before a handler that is not known to be short: what was committed does not wait for its end.
void flush_before_long_job(std::optional<std::int64_t> run_time);

// After such a commit: flushes when the oldest one that is not safe yet is 10 ms old.
void flush_if_due();

// Before this process waits or ends: everything it has committed is safe.
void flush_now();

// Registers the commit callback. Once per process. C++ regime.
void prepare_durability();

}  // namespace hipq::execute
