// Installs hipq's hooks, through which it sees statements of others.
#pragma once

#include "server/server.hpp"
namespace hipq::server {

// Whether this database has the extension; false outside a transaction.
bool is_installed();

}  // namespace hipq::server
