// The handlers of the interface, by what they are about. docs/hipq-web.md has the list of calls.
#pragma once

#include "api/call.hpp"

namespace hipq::web {

struct Route {
    const char *method;
    const char *pattern;  // a regular expression for the whole path
    Handler handler;
};

// Figures, queues, job types, workers and what else is looked at as a list.
std::vector<Route> list_routes();

}  // namespace hipq::web
