// The calls of the interface, by subject. clients/web/README.md lists them.
#pragma once

#include <vector>

#include "api/call.hpp"

namespace hipq::web {

struct Route {
    enum class Kind {
        look,   // GET
        ask,    // POST: a search, whose conditions must not be in a URL
        action  // POST: changes something; not for a role that only looks
    };
    Kind kind;
    const char *pattern;  // a regular expression for the whole path
    Handler handler;
};

// Figures, queues, job types, workers and the other lists.
std::vector<Route> list_routes();
// Jobs: searches, and the page of one job.
std::vector<Route> job_routes();
// Graphs: a list, and one of them.
std::vector<Route> graph_routes();
// Actions on jobs, and pauses.
std::vector<Route> action_routes();
std::vector<Route> dead_letter_routes();

}  // namespace hipq::web
