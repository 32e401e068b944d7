// Keeps settings that a database or role carries from hipq's own processes.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::process {

// Connects to a database, as the superuser that made the cluster, and remembers what settings are
// without those of the database, for pin_settings().
void connect(Oid database);

// In a process that runs no user code, after connect(): settings are the server's, but for hipq's
// own, which a database may have, and for those that could make hipq's statements mean or do
// something else, or end them. These have one value everywhere.
void pin_settings();

// In a process that runs user code: what alone would end it. Other settings are the role's there
// (pg/own_settings.hpp has what hipq's own statements need).
void pin_settings_of_executor();

}  // namespace hipq::process
