// Sessions on other servers by extension dblink.
#pragma once

#include "pg/spi.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hipq::nodes {

// Schema of dblink's functions. Raises 55000 where it is not installed.
std::string schema_of_dblink();

// Rows of one column; nothing: NULL.
using Answers = std::vector<std::optional<std::string>>;
using Query = std::function<Answers(const std::string &statement)>;

// Has a session on another server, in which `talk` runs statements of one column, each in a
// transaction of its own if it begins none. The caller may be cancelled while it waits. Raises
// 08001 where nobody answers, what the statements raise there, and 55000 where dblink is not
// installed. Whatever happens, no connection is left in the session, where it would serve everybody
// who may call dblink; what has begun there is rolled back.
void converse(const std::string &conninfo, const std::function<void(const Query &)> &talk);

struct Reply {
    bool is_reached;                    // false: nobody answers, or not to the end
    std::optional<std::string> answer;  // nothing: NULL
    std::string trouble;                // what keeps it from being reached, for the server's log
};

// Runs a statement of one row and one column on another server, likewise, but says so where it is
// not reached. Raises what the statement raises there with `where` as context.
Reply ask(const std::string &conninfo, const std::string &statement, const std::string &where);

// Waits for a moment, unless the caller is cancelled.
void rest(long milliseconds);

}  // namespace hipq::nodes
