// Tells whether an error is the fault of a job or of the server, and whether it is about a lock.
//
// Decides by SQLSTATE: classes 53 (insufficient resources) and 57 (operator intervention) are the
// server's fault.
#include "pg/error_classes.hpp"

namespace hipq::pg {

bool is_fault_of_job(const pg::Error &error)
{
    const std::string sqlstate = error.sqlstate();
    return !sqlstate.starts_with("53") && !sqlstate.starts_with("57");
}

bool is_lock_trouble(const pg::Error &error)
{
    return error.sqlerrcode() == ERRCODE_LOCK_NOT_AVAILABLE ||
           error.sqlerrcode() == ERRCODE_T_R_DEADLOCK_DETECTED;
}

}  // namespace hipq::pg
