// Cancels a handler at its deadline by a timer, and again each second.
#include "execute/deadline.hpp"

#include <csignal>

#include "core/recovery/stopping.hpp"
#include "shared/executors/stop_control.hpp"

namespace hipq::execute {

namespace {

constinit TimeoutId timer{};
constinit volatile sig_atomic_t missed = 0;

// In the signal handler, at the deadline and each second after it, until the one that hipq.extend()
// may have set has come: what PostgreSQL's statement_timeout does, for the processes that the
// handler may have started too. The scheduler is to count the seconds from now on.
extern "C" void hipq_deadline_missed()
{
    if (!executors::deadline_has_come())
        return;
    if (missed == 0)
        executors::wake_watchers();
    missed = 1;
    (void)::kill(-MyProcPid, SIGINT);
}

}  // namespace

void prepare_deadline()
{
    timer = pg::call([] { return ::RegisterTimeout(USER_TIMEOUT, hipq_deadline_missed); });
}

void arm_deadline(pg::Time end)
{
    missed = 0;
    pg::call([&] {
        ::enable_timeout_every(timer, end.value, static_cast<int>(core::cancel_interval / 1'000));
    });
}

bool disarm_deadline() noexcept
{
    if (::get_timeout_active(timer))
        ::disable_timeout(timer, false);
    return missed != 0;
}

}  // namespace hipq::execute
