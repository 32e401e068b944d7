// Commands that need a database, or the extension, to themselves: hipq's workers stand aside for
// them.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::server {

// Called before each utility statement. For DROP DATABASE, ALTER DATABASE RENAME and SET
// TABLESPACE, CREATE DATABASE from a template, ALTER and DROP EXTENSION hipq: ends the workers of
// that database and keeps new ones away until the command's transaction has ended. Refuses DROP
// EXTENSION while there are unfinished jobs, or without room for its locks. Acts only for roles
// that may give the command. Raises what an interrupt raises.
void before_database_command(const PlannedStmt &planned, ProcessUtilityContext context);

}  // namespace hipq::server
