// Jobs that belong together: a list of graphs, the jobs of one, and a list of batches.
#include "api/api.hpp"
#include "database/statements.hpp"

namespace hipq::web {

namespace {

constexpr const char *most_at_once = "50";
constexpr int most_jobs = 5000;  // some 0.3 s of the server

// An extension from before 0.3.0 has no such views.
template <class Read>
std::string read_groups(Read read)
{
    try {
        return read();
    } catch (const DatabaseError &error) {
        if (error.sqlstate != "42P01" && error.sqlstate != "42883")
            throw;
        throw Problem(404, "the extension of this database is too old for graphs and batches",
                      "Run ALTER EXTENSION hipq UPDATE there.");
    }
}

std::string list_graphs(const Call &call)
{
    const auto before = call.parameter("before");
    return read_groups([&] {
        return object({{"graphs", call.link().rows(statements::graphs, {before, most_at_once})}});
    });
}

std::string list_batches(const Call &call)
{
    const auto before = call.parameter("before");
    return read_groups([&] {
        return object({{"batches", call.link().rows(statements::batches, {before, most_at_once})}});
    });
}

std::string graph_page(const Call &call)
{
    const std::string id = call.part(1);
    const std::string jobs = read_groups([&] {
        return call.link().rows(statements::graph_jobs, {id, std::to_string(most_jobs + 1)});
    });
    if (jobs == "[]")
        throw Problem(404, "there is no graph " + id + " that your role may read",
                      "It may have been removed with its jobs: retention says how long a queue "
                      "keeps them.");
    return object({{"jobs", jobs}, {"most", std::to_string(most_jobs)}});
}

}  // namespace

std::vector<Route> graph_routes()
{
    return {
        {Route::Kind::look, "/api/graphs", list_graphs},
        {Route::Kind::look, "/api/graphs/([0-9]{1,18})", graph_page},
        {Route::Kind::look, "/api/batches", list_batches},
    };
}

}  // namespace hipq::web
