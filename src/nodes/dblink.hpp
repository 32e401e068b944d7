// Opens sessions on other servers by extension dblink.
#pragma once

#include "nodes/nodes.hpp"
#include "pg/spi.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hipq::nodes {

// Returns the schema of dblink's functions. Raises 55000 if dblink is not installed.
std::string schema_of_dblink();

// Sleeps, unless the caller is cancelled.
void rest(long milliseconds);

}  // namespace hipq::nodes
