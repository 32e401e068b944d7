// hipq.fail_retriable, hipq.retry_after, hipq.rate_limited and hipq.fail_permanently, with which a
// handler says how it failed.
#include "catalog/checks.hpp"
#include "job/current_job.hpp"
#include "pg/arguments.hpp"
#include "pg/error_codes.hpp"

namespace hipq::retry {

namespace {

[[noreturn]] void fail(const pg::Arguments &arguments, const char *sqlstate)
{
    const std::string message =
        arguments.maybe_text("message", core::any_length).value_or("failed");
    HIPQ_RAISE(
        errcode(MAKE_SQLSTATE(sqlstate[0], sqlstate[1], sqlstate[2], sqlstate[3], sqlstate[4])),
        errmsg("%s", message.c_str()));
}

// `delay`: the argument that says how long the retry waits.
[[noreturn]] void fail_with_delay(const pg::Arguments &arguments, const char *delay)
{
    job::request_retry_after(catalog::check_delay(delay, arguments.duration(delay)));
    fail(arguments, pg::retriable_failure_sqlstate);
}

}  // namespace

}  // namespace hipq::retry

HIPQ_FUNCTION(hipq_fail_retriable)
{
    hipq::retry::fail(hipq::pg::Arguments(fcinfo), hipq::pg::retriable_failure_sqlstate);
}

HIPQ_FUNCTION(hipq_retry_after)
{
    hipq::retry::fail_with_delay(hipq::pg::Arguments(fcinfo), "delay");
}

HIPQ_FUNCTION(hipq_rate_limited)
{
    hipq::retry::fail_with_delay(hipq::pg::Arguments(fcinfo), "retry_after");
}

HIPQ_FUNCTION(hipq_fail_permanently)
{
    hipq::retry::fail(hipq::pg::Arguments(fcinfo), hipq::pg::permanent_failure_sqlstate);
}
