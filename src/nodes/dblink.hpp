// Sessions on other servers by extension dblink.
#pragma once

#include "pg/spi.hpp"

namespace hipq::nodes {

// Schema of dblink's functions. Raises 55000 where it is not installed.
std::string schema_of_dblink();

struct Reply {
    bool is_reached;                    // false: nobody answers, or not to the end
    std::optional<std::string> answer;  // nothing: NULL
    std::string trouble;                // what keeps it from being reached, for the server's log
};

// Runs a statement of one row and one column on another server, in a session and a transaction of
// its own there. The caller may be cancelled while it waits. Raises what the statement raises
// there, with `where` as context, and 55000 where dblink is not installed. Whatever happens, no
// connection is left in the session, where it would serve everybody who may call dblink.
Reply ask(const std::string &conninfo, const std::string &statement, const std::string &where);

// Waits for a moment, unless the caller is cancelled.
void rest(long milliseconds);

}  // namespace hipq::nodes
