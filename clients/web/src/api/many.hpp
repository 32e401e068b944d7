// Runs an action for each job of a call, and reports the refused ones.
#pragma once

#include "api/call.hpp"

namespace hipq::web {

// The ids of a call. Throws Problem if there are none, or too many.
std::vector<std::string> ids_of(const Call &call);

// {"done": n, "new": {"id": "new id"}, "refused": [{"id", "message", "hint"?, "sqlstate"}]}: runs
// the statement for each id, which is its first parameter; further parameters follow. "new" has the
// result, if it is the id of a job.
std::string do_to_each(const Call &call, const char *statement, const Parameters &others,
                       const char *when_false = nullptr);

}  // namespace hipq::web
