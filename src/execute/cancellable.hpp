// When an executor may be cancelled: while user code runs. Its own bookkeeping never is, be it by
// its timer, by hipq.cancel(), by pg_cancel_backend() or by a role's lock_timeout.
#pragma once

namespace hipq::execute {

// Once per process: SIGINT is for user code only. C++ regime.
void prepare_cancellation();

// User code starts.
void begin_cancellable() noexcept;

// User code has ended: forgets what has not struck yet. `signalled`: a signal for it may be on its
// way, and is waited for.
void end_cancellable(bool signalled) noexcept;

}  // namespace hipq::execute
