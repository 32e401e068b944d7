// Rows of hipq.graph_job: the names of jobs that were enqueued as one graph.
#pragma once

#include "job/dependency_rows.hpp"

namespace hipq::job {

// The jobs of a new graph, and what they come after, written together. The graph is named by the
// lowest of their ids.
class GraphRows {
public:
    void add(int queue_id, std::int64_t job_id, const std::string &name, const After &after);
    void write();

private:
    std::vector<std::int64_t> queues_{};
    std::vector<std::int64_t> ids_{};
    std::vector<std::string> names_{};
    // One for each pair of jobs.
    std::vector<std::int64_t> later_queues_{}, later_{}, earlier_{}, earlier_queues_{};
    std::vector<std::string> policies_{}, reactions_{};
};

// The jobs of a graph, by its id or that of one of its jobs; none: there is no such graph.
std::vector<JobBefore> jobs_of_graph(std::int64_t id);

// The job of that name in such a graph; nothing: there is none.
std::optional<JobBefore> job_of_graph(std::int64_t id, std::string_view name);

}  // namespace hipq::job
