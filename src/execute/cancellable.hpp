// When an executor may be cancelled: only while user code runs. Its own bookkeeping is never
// cancelled, be it by its timer, by hipq.cancel(), by pg_cancel_backend() or by a role's
// lock_timeout.
#pragma once

namespace hipq::execute {

// Installs the SIGINT handler, which cancels user code only. Call once per process.
void prepare_cancellation();

// User code starts.
void begin_cancellable() noexcept;

// User code has ended: drops a cancellation that has not taken effect yet. `signalled`: a signal
// for the user code may be on its way, so receive it first.
void end_cancellable(bool signalled) noexcept;

}  // namespace hipq::execute
