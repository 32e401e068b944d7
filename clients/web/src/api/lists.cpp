// The lists: figures, queues, job types, workers, executors and so on.
#include "api/api.hpp"
#include "database/statements.hpp"

namespace hipq::web {

namespace {

// {"name": the rows of a statement without parameters}
Route list(const char *path, const char *name, const char *statement)
{
    return {Route::Kind::look, path, [name, statement](const Call &call) {
                return object({{name, call.link().rows(statement)}});
            }};
}

// The same for a statement whose parameter is a queue: of all queues, or of this one.
Route list_by_queue(const char *path, const char *name, const char *statement)
{
    return {Route::Kind::look, path, [name, statement](const Call &call) {
                return object({{name, call.link().rows(statement, {call.parameter("queue")})}});
            }};
}

std::string throughput(const Call &call)
{
    return object(
        {{"minutes", call.link().rows(statements::throughput, {call.parameter("queue")})}});
}

std::string queue_page(const Call &call)
{
    const Parameters name = {call.part(1)};
    const std::string rows = call.link().rows(statements::queues, name);
    if (rows == "[]")
        throw Problem(404, "there is no queue \"" + call.part(1) + "\" that your role may see");
    const nlohmann::json queue = nlohmann::json::parse(rows).at(0);
    const bool may_read = queue.at("may_read") == true;
    const auto of_queue = [&](const char *statement) { return call.link().rows(statement, name); };
    const Result rights = call.link().run(statements::queue_rights, name);
    return object({{"queue", rows.substr(1, rows.size() - 2)},
                   {"may", PQntuples(rights.get()) > 0 ? PQgetvalue(rights.get(), 0, 0) : "null"},
                   {"job_types", of_queue(statements::job_types)},
                   {"pauses", of_queue(statements::pauses)},
                   {"fillers", of_queue(statements::queue_fillers)},
                   {"held", may_read ? call.link().rows(statements::filled(
                                           statements::queue_held, "", queue.at("table_name")))
                                     : "[]"},
                   {"pace", of_queue(statements::queue_pace)},
                   {"statistics", of_queue(statements::queue_statistics)},
                   {"failures", of_queue(statements::queue_failures)},
                   {"sizes", of_queue(statements::queue_sizes)}});
}

}  // namespace

std::vector<Route> list_routes()
{
    return {
        {Route::Kind::look, "/api/throughput", throughput},
        list_by_queue("/api/queues", "queues", statements::queues),
        {Route::Kind::look, "/api/queues/(.+)", queue_page},
        list_by_queue("/api/job-types", "job_types", statements::job_types),
        list("/api/workers", "workers", statements::workers),
        list("/api/executors", "executors", statements::executors),
        list("/api/schedules", "schedules", statements::schedules),
        list_by_queue("/api/pauses", "pauses", statements::pauses),
        list("/api/alerts", "alerts", statements::alerts),
        list("/api/doctor", "findings", statements::doctor),
        list("/api/settings", "settings", statements::settings),
    };
}

}  // namespace hipq::web
