// Calls of other nodes.
#pragma once

#include "pg/spi.hpp"

#include <functional>

namespace hipq::shards {

// Runs a statement of one column on a node, and returns its rows as text.
using Ask = std::function<std::vector<std::string>(const std::string &)>;

// Runs a statement of one column on another server, in its own transaction, and returns its rows as
// text. Raises 55000 if dblink is not installed, 08001 if no server answers, and the statement's
// own errors.
std::vector<std::string> ask(const std::string &conninfo, const std::string &statement);

// The same for a statement of one row.
std::string ask_one(const std::string &conninfo, const std::string &statement);

// Returns server_version_num of a server.
int version_of(const std::string &conninfo);

// Returns the timeline on which a server writes, as of its last checkpoint.
int timeline_of(const std::string &conninfo);

// The same on this server.
std::vector<std::string> ask_here(const std::string &statement);

// Returns the first row; empty: there is none.
std::string first_of(const std::vector<std::string> &answers);

// Checks `is_so` again and again for half a minute, until it is true.
bool comes_true(const std::function<bool()> &is_so);

// Runs `talk` in one transaction of another server, and commits there. If it raises, the other
// server is unchanged, and the error is passed on.
void in_one_transaction(const std::string &conninfo, const std::function<void(const Ask &)> &talk);

// For hints of a shard: "the router, host=... port=... dbname=...", without other parts of the
// connection string.
std::string router_of(int instance_id);

// "SELECT function('argument', ...)::text"
std::string call_of(const char *function, const std::vector<std::string> &arguments);

}  // namespace hipq::shards
