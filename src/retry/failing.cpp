// hipq.fail_retriable and hipq.fail_permanently: how a handler says how it failed.
#include "pg/arguments.hpp"
#include "pg/failure_codes.hpp"

namespace hipq::retry {

namespace {

[[noreturn]] void fail(FunctionCallInfo fcinfo, const char *sqlstate)
{
    const std::string message =
        pg::Arguments(fcinfo).maybe_text(0, core::any_length).value_or("failed");
    HIPQ_RAISE(
        errcode(MAKE_SQLSTATE(sqlstate[0], sqlstate[1], sqlstate[2], sqlstate[3], sqlstate[4])),
        errmsg("%s", message.c_str()));
}

}  // namespace

}  // namespace hipq::retry

HIPQ_FUNCTION(hipq_fail_retriable)
{
    hipq::retry::fail(fcinfo, hipq::pg::retriable_failure_sqlstate);
}

HIPQ_FUNCTION(hipq_fail_permanently)
{
    hipq::retry::fail(fcinfo, hipq::pg::permanent_failure_sqlstate);
}
