// Protects hipq's own processes from settings of a database or role.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::process {

// Connects to a database as the bootstrap superuser, and remembers for pin_settings() the values
// that settings have without those of the database.
void connect(Oid database);

// For a process that runs no user code; call it after connect(). Settings get the server's values,
// except for hipq's own, which a database may set, and for settings that could change the meaning
// or effect of hipq's statements, or end them. The latter have one value everywhere.
void pin_settings();

// For a process that runs user code: pins only what would end the process. Other settings are the
// role's there (pg/own_settings.hpp has what hipq's own statements need).
void pin_settings_of_executor();

}  // namespace hipq::process
