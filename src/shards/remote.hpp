// Calls of other nodes.
#pragma once

#include "pg/spi.hpp"

namespace hipq::shards {

// Runs a statement of one column on another server, in a transaction of its own, and returns its
// rows as text. Raises 55000 where dblink is not installed, 08001 where nobody answers, and what
// the statement raises there.
std::vector<std::string> ask(const std::string &conninfo, const std::string &statement);

// The same for a statement of one row.
std::string ask_one(const std::string &conninfo, const std::string &statement);

// "SELECT function('argument', ...)::text"
std::string call_of(const char *function, const std::vector<std::string> &arguments);

}  // namespace hipq::shards
