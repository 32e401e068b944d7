// A function that ends its own process in a given way. Handlers of
// test/t/recovery/crashing_handlers.pl call it.
#include <csignal>

#include <unistd.h>

#include "pg/guard.hpp"

extern "C" {
#pragma GCC visibility push(default)
PG_MODULE_MAGIC;
#pragma GCC visibility pop
}

namespace hipq {

namespace {

void end_process(std::string_view how)
{
    if (how == "abort")
        std::abort();
    if (how == "segv")
        ::kill(::getpid(), SIGSEGV);
    if (how == "kill")
        ::kill(::getpid(), SIGKILL);
    if (how == "quit")  // as from a stranger: not from the postmaster
        ::kill(::getpid(), SIGQUIT);
    if (how == "_exit")  // not even its exit callbacks run
        ::_exit(0);
    if (how == "exit")  // they do
        std::exit(1);
}

}  // namespace

}  // namespace hipq

HIPQ_FUNCTION(crash_test)
{
    const ::text *how = hipq::pg::call([&] { return DatumGetTextPP(fcinfo->args[0].value); });
    hipq::end_process({VARDATA_ANY(how), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(how))});
    return Datum{0};
}
