// Reads the postmaster's status, as pg_ctl does.
#include "process/process.hpp"

#include <fstream>

extern "C" {
#include "miscadmin.h"
#include "utils/pidfile.h"
}

namespace hipq::process {

bool is_server_stopping()
{
    std::ifstream file(std::string(DataDir) + "/postmaster.pid");
    std::string line;
    for (int number = 1; std::getline(file, line); ++number)
        if (number == LOCK_FILE_LINE_PM_STATUS)
            return line.starts_with(PM_STATUS_STOPPING);
    return false;
}

}  // namespace hipq::process
