// Who waits for the end of a job: sessions in hipq.wait_for(), and the scheduler for jobs that have
// a successor.
//
// Told by the transaction in which the job ended, when it is over. Nobody counts on it alone:
// whoever waits looks by himself after a while.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::wakeup {

// A session
// ----------------------------------------------------------------------------------------------

// From now on this process is told, until it says otherwise or ends. False: there is no room, so
// nobody will tell.
bool await_end(std::int64_t job_id);
void stop_awaiting() noexcept;
// Whether it was told since it last asked.
bool was_told();

// The scheduler
// ----------------------------------------------------------------------------------------------

// It is to look when one of these jobs has ended, and no longer for those it has named before.
void look_at_end_of(std::span<const std::int64_t> job_ids);

extern const memory::Part ends_part;

// Whoever ends a job
// ----------------------------------------------------------------------------------------------

// Whether anybody waits for the end of any job in the server. Asked after the end: who comes later
// sees it himself.
bool are_ends_awaited() noexcept;

// Tells those who wait for the end of these jobs of this database, or (no jobs) of any. Cannot
// fail.
void tell_end_of(std::span<const std::int64_t> job_ids) noexcept;

}  // namespace hipq::wakeup
