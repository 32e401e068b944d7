// hipq.fail_retriable and hipq.fail_permanently: how a handler says how it failed.
#include "api/arguments.hpp"
#include "worker/failure_codes.hpp"

namespace hipq::api {

namespace {

[[noreturn]] void fail(FunctionCallInfo fcinfo, const char *sqlstate)
{
    const std::string message = Arguments(fcinfo).maybe_text(0, core::any_length).value_or("failed");
    HIPQ_RAISE(errcode(MAKE_SQLSTATE(sqlstate[0], sqlstate[1], sqlstate[2], sqlstate[3], sqlstate[4])),
               errmsg("%s", message.c_str()));
}

}  // namespace

}  // namespace hipq::api

HIPQ_FUNCTION(hipq_fail_retriable)
{
    hipq::api::fail(fcinfo, hipq::worker::retriable_failure_sqlstate);
}

HIPQ_FUNCTION(hipq_fail_permanently)
{
    hipq::api::fail(fcinfo, hipq::worker::permanent_failure_sqlstate);
}
