// Keeps a flag for the signal handler: whether user code runs that may be cancelled.
#include "execute/cancellable.hpp"

#include <cerrno>
#include <csignal>

#include "pg/guard.hpp"

namespace hipq::execute {

namespace {

constinit volatile sig_atomic_t is_cancellable = 0;

// Runs in the signal handler. Does what StatementCancelHandler does, but only while user code runs.
void note_cancellation()
{
    const int before = errno;
    if (is_cancellable != 0) {
        InterruptPending = 1;
        QueryCancelPending = 1;
    }
    ::SetLatch(MyLatch);
    errno = before;
}

}  // namespace

void prepare_cancellation()
{
    pg::call([] { pqsignal(SIGINT, [](auto...) { note_cancellation(); }); });
}

void begin_cancellable() noexcept
{
    is_cancellable = 1;
}

void end_cancellable(bool signalled) noexcept
{
    // A signal that was sent before now is delivered before this call returns.
    if (signalled)
        (void)sigprocmask(SIG_SETMASK, &UnBlockSig, nullptr);
    is_cancellable = 0;
    QueryCancelPending = 0;
}

}  // namespace hipq::execute
