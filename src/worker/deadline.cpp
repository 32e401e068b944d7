// The timer, over PostgreSQL's timeout module.
#include "deadline.hpp"

#include <csignal>

#include "pg/guard.hpp"

namespace hipq::worker {

namespace {

constexpr int cancel_again = 1'000;  // ms
constexpr int cancellations = 3;     // a handler that catches as many is ended with its process

constinit TimeoutId timer{};
constinit volatile sig_atomic_t missed = 0;

// In the signal handler: what StatementCancelHandler does, and at last what die() does.
extern "C" void hipq_deadline_missed()
{
    missed = missed + 1;
    if (missed > cancellations)
        ProcDiePending = 1;
    InterruptPending = 1;
    QueryCancelPending = 1;
    ::SetLatch(MyLatch);
}

}  // namespace

void prepare_deadline()
{
    timer = pg::call([] { return ::RegisterTimeout(USER_TIMEOUT, hipq_deadline_missed); });
}

void arm_deadline(std::int64_t seconds)
{
    missed = 0;
    const TimestampTz end = ::GetCurrentTimestamp() + seconds * USECS_PER_SEC;
    pg::call([&] { ::enable_timeout_every(timer, end, cancel_again); });
}

bool disarm_deadline() noexcept
{
    if (::get_timeout_active(timer))
        ::disable_timeout(timer, false);
    QueryCancelPending = 0;
    return missed != 0;
}

}  // namespace hipq::worker
