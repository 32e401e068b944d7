// Commands that need a database, or the extension, to themselves: hipq's workers stand aside for them.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::api {

// Called before each utility statement. DROP DATABASE, ALTER DATABASE RENAME and SET TABLESPACE, CREATE DATABASE from a template:
// ends the workers of that database and keeps new ones away until the command's transaction has ended. DROP EXTENSION hipq too,
// and refuses while there are unfinished jobs. Only for those who may give the command. Raises what an interrupt raises.
void before_database_command(const PlannedStmt &planned, ProcessUtilityContext context);

}  // namespace hipq::api
