// The server and its timeline, by which a node of a sharded instance knows whether it is in step
// with the others.
//
// A standby that is promoted, and a server that is restored to a point in time, begin a new
// timeline. A server that is started from a copy of the files has another mark. A server into which
// a dump was restored has another system identifier. Each of them may lack what the node has sent
// and received. A server whose disk was set back to an earlier state looks unchanged;
// forgotten_timeline() says what it records once that is found out.
#pragma once

#include "pg/postgres.hpp"

#include <string>
#include <string_view>

namespace hipq::catalog {

// "system identifier/timeline/mark". On a standby, that of its primary, without the mark.
std::string own_timeline();

// Whether the recorded value is that of this server and its present timeline. A standby decides
// nothing, so it returns true.
bool is_own_timeline(std::string_view noted);

// What to record for a node that has lost its latest changes though server and timeline are the
// same: a value that no server has. `known` is what another node knows of it.
std::string forgotten_timeline(std::string_view known);

// Raises 55000 because the node is out of step, with a hint on what to do.
[[noreturn]] void refuse_out_of_step(std::string_view instance, int node);

}  // namespace hipq::catalog
