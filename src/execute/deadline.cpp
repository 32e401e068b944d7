// Cancels a handler by a timer, at its deadline and each second after it.
#include "execute/deadline.hpp"

#include <csignal>

#include "core/recovery/stopping.hpp"
#include "shared/executors/stop_control.hpp"

namespace hipq::execute {

namespace {

constinit TimeoutId timer{};
constinit volatile sig_atomic_t missed = 0;

// Runs in the signal handler, at the original deadline and each second after it. Does nothing
// before the deadline that hipq.extend() may have set. Then it cancels as statement_timeout does,
// including processes that the handler may have started. The first time it wakes the scheduler,
// which counts the seconds from now on.
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
