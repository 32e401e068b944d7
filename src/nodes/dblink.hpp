// Opens sessions on other servers by extension dblink.
#pragma once

#include "pg/spi.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hipq::nodes {

// Returns the schema of dblink's functions. Raises 55000 if dblink is not installed.
std::string schema_of_dblink();

// Rows of one column; nothing: NULL.
using Answers = std::vector<std::optional<std::string>>;
using Query = std::function<Answers(const std::string &statement)>;

// Opens a session on another server in which `talk` runs statements of one column, each in a
// transaction of its own unless it begins one. The caller can be cancelled while it waits. Raises
// 08001 if the server does not answer, any error of the statements, and 55000 if dblink is not
// installed. In any case no connection is left in the session, where every role that may call
// dblink could use it; a transaction left open there is rolled back.
void converse(const std::string &conninfo, const std::function<void(const Query &)> &talk);

struct Reply {
    bool is_reached;                    // false: there is no answer, or not a complete one
    std::optional<std::string> answer;  // nothing: NULL
    std::string trouble;                // why the server cannot be reached, for this server's log
};

// Runs a statement of one row and one column on another server in the same way, but reports an
// unreachable server in the reply. Raises an error of the statement with `where` as context.
Reply ask(const std::string &conninfo, const std::string &statement, const std::string &where);

// Sleeps, unless the caller is cancelled.
void rest(long milliseconds);

}  // namespace hipq::nodes
