// The server and its timeline, by which a node of a sharded instance knows that it is in step with
// the others.
//
// A standby that is promoted, and a server that is restored to a point in time, begin a new
// timeline; a server that is started from a copy of the files has another mark; one that a dump was
// restored in has another system identifier. Each may lack what it has sent and received. One whose
// disk was put back to an earlier state looks like itself; what it notes then is that.
#pragma once

#include "pg/postgres.hpp"

#include <string>
#include <string_view>

namespace hipq::catalog {

// "system identifier/timeline/mark". Of a standby that of its primary, without the mark.
std::string own_timeline();

// Whether what was noted is this server and its present timeline. A standby decides nothing: true.
bool is_own_timeline(std::string_view noted);

// What to note of a node that has forgotten what it did last, though it is still that server and
// its timeline: no server has it. `known`: what another node knows of it.
std::string forgotten_timeline(std::string_view known);

// The node is not in step: 55000, with what to do.
[[noreturn]] void refuse_out_of_step(std::string_view instance, int node);

}  // namespace hipq::catalog
