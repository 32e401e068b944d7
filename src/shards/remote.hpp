// Calls of other nodes.
#pragma once

#include "pg/spi.hpp"

#include <functional>

namespace hipq::shards {

// Runs a statement of one column on a node, and returns its rows as text.
using Ask = std::function<std::vector<std::string>(const std::string &)>;

// Runs a statement of one column on another server, in a transaction of its own, and returns its
// rows as text. Raises 55000 where dblink is not installed, 08001 where nobody answers, and what
// the statement raises there.
std::vector<std::string> ask(const std::string &conninfo, const std::string &statement);

// The same for a statement of one row.
std::string ask_one(const std::string &conninfo, const std::string &statement);

// server_version_num of a server.
int version_of(const std::string &conninfo);

// The timeline on which a server writes, as of its last checkpoint.
int timeline_of(const std::string &conninfo);

// Here.
std::vector<std::string> ask_here(const std::string &statement);

// The first row; empty: there is none.
std::string first_of(const std::vector<std::string> &answers);

// Looks again and again, for half a minute, until `is_so`.
bool comes_true(const std::function<bool()> &is_so);

// Runs `talk` in one transaction of another server, and commits there. When it raises, nothing has
// happened there, and the error goes on.
void in_one_transaction(const std::string &conninfo, const std::function<void(const Ask &)> &talk);

// For hints of a shard: "the router, host=... port=... dbname=...", without what is nobody's to
// know.
std::string router_of(int instance_id);

// "SELECT function('argument', ...)::text"
std::string call_of(const char *function, const std::vector<std::string> &arguments);

}  // namespace hipq::shards
