// Commits between the steps of a procedure.
#include "shards/steps.hpp"

extern "C" {
#include "executor/spi.h"
#include "tcop/pquery.h"
}

namespace hipq::shards {

void demand_step_by_step(FunctionCallInfo fcinfo, const char *procedure)
{
    const auto *context = reinterpret_cast<const CallContext *>(fcinfo->context);
    if (context != nullptr && IsA(context, CallContext) && !context->atomic)
        return;
    HIPQ_RAISE(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
               errmsg("hipq.%s() commits, and cannot run in a transaction block", procedure),
               errhint("CALL it by itself."));
}

void next_step()
{
    pg::call([] {
        if (::SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
            elog(ERROR, "SPI_connect failed");
        ::SPI_commit();
        ::SPI_finish();
        ::EnsurePortalSnapshotExists();
    });
}

}  // namespace hipq::shards
