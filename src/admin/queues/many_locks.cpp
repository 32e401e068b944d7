// Adds a hint to the error of a transaction that creates or drops queues and finds no room for its
// locks.
#include "admin/queues/many_locks.hpp"

namespace hipq::admin {

namespace {

// 53200 also means that the server has no memory. No other hint has the name of the setting, and it
// is not translated.
bool is_out_of_locks(const pg::Error &error)
{
    return error.sqlerrcode() == ERRCODE_OUT_OF_MEMORY &&
           error.hint().value_or("").find("max_locks_per_transaction") != std::string::npos;
}

}  // namespace

void raise_with_hint_on_locks(const char *doing, const pg::Error &error)
{
    if (!is_out_of_locks(error))
        throw error;  // NOLINT(cert-err60-cpp): as it came
    HIPQ_RAISE(errcode(ERRCODE_OUT_OF_MEMORY),
               errmsg("no room for the locks of a transaction that %s", doing),
               errdetail("The tables and indexes of each queue are locked until it ends."),
               errhint("Use several transactions, or increase max_locks_per_transaction."));
}

}  // namespace hipq::admin
