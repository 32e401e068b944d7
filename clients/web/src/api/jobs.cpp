// Jobs: searches, and everything about one job.
#include "api/api.hpp"
#include "api/search.hpp"
#include "database/statements.hpp"

namespace hipq::web {

namespace {

std::string search_jobs(const Call &call)
{
    return Search(call).run();
}

// The queue that has a job. Searches only queues that the role may read.
Searched queue_of(Link &link, const std::string &id)
{
    std::vector<Searched> queues = searched_queues(link, std::nullopt);
    std::erase_if(queues, [](const Searched &queue) { return !queue.may_read; });
    for (const std::string &statement : joined(queues, statements::job_is_in)) {
        const Result result = link.run(statement, {id});
        if (PQntuples(result.get()) > 0)
            for (const Searched &queue : queues)
                if (queue.name == PQgetvalue(result.get(), 0, 0))
                    return queue;
    }
    throw Problem(404, "there is no job " + id + " that your role may read",
                  "It may have been removed: retention says how long a queue keeps its jobs.");
}

// What the role may do with a job in its state.
std::string allowed(const nlohmann::json &job, bool is_read_only)
{
    const bool may = !is_read_only && job.at("may_operate") == true;
    const bool may_control = !is_read_only && job.at("may_control") == true;
    const bool is_final = job.at("state") == "final";
    const bool is_waiting = job.at("outcome") == "waiting";
    return nlohmann::json{{"cancel", may && !is_final},
                          {"retry", may && is_final},
                          {"reschedule", may && is_waiting},
                          {"dead_letter", may_control && is_final}}
        .dump();
}

// Of a list with one row or none. Does not parse the row: it may be nested as deeply as the
// server's stack allows.
std::string first_or_null(const std::string &rows)
{
    return rows == "[]" ? "null" : rows.substr(1, rows.size() - 2);
}

std::string job_page(const Call &call)
{
    Link &link = call.link();
    const std::string id = call.part(1);
    const auto named = call.parameter("queue");
    const Searched queue = named ? searched_queues(link, named).front() : queue_of(link, id);
    const std::string rows =
        link.rows(statements::filled(statements::job_page, queue.literal, queue.table),
                  {id, running_jobs(link)});
    if (rows == "[]")
        throw Problem(404, "there is no job " + id + " in queue " + queue.name,
                      "It may have been removed: retention says how long a queue keeps its jobs.");
    const nlohmann::json found = nlohmann::json::parse(rows);
    const Parameters place = {id, queue.name};
    return object({{"job", first_or_null(rows)},
                   {"attempts", link.rows(statements::job_attempts, place)},
                   {"why", link.rows(statements::job_why, place)},
                   {"log", link.rows(statements::job_log, place)},
                   {"chain", link.rows(statements::job_chain, place)},
                   {"progress", first_or_null(link.rows(statements::job_progress, {id}))},
                   {"running", first_or_null(link.rows(statements::job_running, {id}))},
                   {"dead_letter", first_or_null(link.rows(statements::job_dead_letter, place))},
                   {"graph", first_or_null(link.rows(statements::graph_of_job, {id}))},
                   {"may", allowed(found.at(0), call.is_read_only)}});
}

}  // namespace

std::vector<Route> job_routes()
{
    return {
        {Route::Kind::ask, "/api/jobs/search", search_jobs},
        {Route::Kind::look, "/api/jobs/([0-9]{1,18})", job_page},
    };
}

}  // namespace hipq::web
