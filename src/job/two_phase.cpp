// Forbids PREPARE TRANSACTION if the transaction has done something that does not work with
// two-phase commit.
//
// Uses one process-local flag. Rolling back to a savepoint does not reset it; the transaction must
// then commit in one phase.
#include "job/two_phase.hpp"

#include "pg/guard.hpp"

namespace hipq::job {

namespace {

constinit NoTwoPhase forbidden = NoTwoPhase::none;

extern "C" void hipq_two_phase_transaction_ends(XactEvent event, void *)
{
    if (event == XACT_EVENT_PRE_PREPARE)
        pg::enter([] { demand_two_phase(); });
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
        forbidden = NoTwoPhase::none;
}

}  // namespace

void forbid_two_phase(NoTwoPhase reason)
{
    forbidden = reason;
}

void demand_two_phase()
{
    switch (forbidden) {
    case NoTwoPhase::none:
        return;
    case NoTwoPhase::job_taken:
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("cannot PREPARE a transaction that has claimed or finished hipq jobs"),
                   errhint("Use COMMIT, or enqueue jobs in the transaction instead."));
    case NoTwoPhase::attempt_restored:
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("cannot PREPARE a transaction that has restored running hipq jobs"),
                   errhint("Use COMMIT."));
    case NoTwoPhase::worker_changed:
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("cannot PREPARE a transaction that has registered, drained or "
                          "deregistered a hipq worker"),
                   errhint("Use COMMIT."));
    case NoTwoPhase::breaker_changed:
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("cannot PREPARE a transaction that has opened or closed the breaker of a "
                          "hipq job type"),
                   errhint("Use COMMIT."));
    case NoTwoPhase::extension_dropped:
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("cannot PREPARE a transaction that has dropped extension \"hipq\""),
                   errhint("Use COMMIT."));
    }
}

void watch_two_phase()
{
    ::RegisterXactCallback(hipq_two_phase_transaction_ends, nullptr);
}

}  // namespace hipq::job
