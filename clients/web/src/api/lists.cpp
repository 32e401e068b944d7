// What is looked at as a list: figures, queues, job types, workers, executors and so on.
#include "api/api.hpp"
#include "database/statements.hpp"

namespace hipq::web {

namespace {

std::string throughput(const Call &call)
{
    return object({{"minutes", call.link().rows(statements::throughput, {call.parameter("queue")})}});
}

}  // namespace

std::vector<Route> list_routes()
{
    return {
        {"GET", "/api/throughput", throughput},
    };
}

}  // namespace hipq::web
