// Graphs: jobs that come after each other by their names, enqueued in one call.
#pragma once

#include "hipq/client/enqueue.hpp"

#include <concepts>
#include <map>

namespace hipq::client {

struct GraphOptions {
    Value queue = {};     // of the jobs that name none
    Value deadline = {};  // expires_time of the jobs that give none
};

// A job that one of a graph comes after: another one by its name, or a job that is enqueued
// already.
class Earlier {
public:
    Earlier(std::string name) : json_(std::move(name)) {}
    Earlier(const char *name) : json_(name) {}
    template <std::convertible_to<JobOrId> Job>
    Earlier(const Job &job) : json_(JobOrId(job).id())
    {
    }
    const Json &json() const { return json_; }

private:
    Json json_;
};

// Options as those of enqueue().
struct GraphJobOptions {
    Value queue = {};
    Value key = {};
    Value scheduled_run_time = {};
    Value expires_time = {};
    std::optional<int> priority = {};
    Value timeout = {};
    Value queue_ttl = {};
    std::optional<int> max_retries = {};
    Value throttle_key = {};
    std::optional<double> throttle_factor = {};
    Value time_windows = {};
    std::vector<Earlier> after = {};
    Value after_policy = {};
    Value on_failure = {};
};

namespace detail {

// Collects options as members of a JSON object: as texts, which the server casts.
struct Members {
    Json object;
    Members &with(const char *name, const char *, const Value &value)
    {
        if (value)
            object[name] = *value;
        return *this;
    }
};

}  // namespace detail

class Graph {
public:
    explicit Graph(GraphOptions options = {}) : options_(std::move(options)) {}

    // Adds a job, and returns its name, for `after` of others. A number is not a name.
    std::string job(const std::string &name, const std::string &type,
                    const Json &data = Json::object(), const GraphJobOptions &options = {})
    {
        detail::Members job;
        job.object["name"] = name;
        job.object["job_type"] = type;
        job.object["job_data"] = data;
        for (const Earlier &earlier : options.after)
            job.object["after"].push_back(earlier.json());
        job.with("job_key", "text", options.key);
        jobs_.push_back(detail::with_common_options(job, options).object);
        return name;
    }

    // The call of hipq.enqueue_graph().
    Call call() const
    {
        Call call("enqueue_graph");
        call.with("graph", "jsonb", jobs_.dump());
        call.with("queue", "text", options_.queue);
        return call.with("deadline", "timestamptz", options_.deadline);
    }

private:
    GraphOptions options_;
    Json jobs_ = Json::array();
};

// Enqueues all jobs of a graph, or none, in the connection's open transaction. Returns the id of
// each name. Throws the errors of hipq.enqueue_graph(): 22023 if the jobs come after each other in
// a circle.
inline std::map<std::string, std::int64_t> enqueue(PGconn *connection, const Graph &graph)
{
    const Result result = run(connection, graph.call().select_from("name, id"));
    std::map<std::string, std::int64_t> ids;
    for (int row = 0; row < result.rows(); ++row)
        ids.emplace(result.text(row, "name"), result.number(row, "id"));
    return ids;
}

}  // namespace hipq::client
