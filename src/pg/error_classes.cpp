// Tells whether an error is the fault of a job or of the server.
//
// By SQLSTATE: classes 53 (insufficient resources) and 57 (operator intervention) are the server's.
#include "error_classes.hpp"

namespace hipq::pg {

bool is_fault_of_job(const pg::Error &error)
{
    const std::string sqlstate = error.sqlstate();
    return !sqlstate.starts_with("53") && !sqlstate.starts_with("57");
}

}  // namespace hipq::pg
