// Sessions that wait for the end of a job, in hipq.wait_for().
//
// The transaction that ends the job notifies them after its commit. A waiting process does not rely
// on that: it also looks by itself after a while.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::wakeup {

// From now on this process is notified, until it calls stop_awaiting() or exits. Returns false if
// there is no room, so that no notification will come.
bool await_end(std::int64_t job_id);
void stop_awaiting() noexcept;
// Whether this process was notified since the last call.
bool was_told();

extern const memory::Part ends_part;

// Whether any process in the server waits for the end of a job. Checked after the end of a job is
// visible: a process that starts to wait later sees it by itself.
bool are_ends_awaited() noexcept;

// Notifies the processes that wait for the end of these jobs of this database, or (no jobs) of any
// of its jobs. Cannot fail.
void tell_end_of(std::span<const std::int64_t> job_ids) noexcept;

}  // namespace hipq::wakeup
