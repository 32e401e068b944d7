// For tests of programs that enqueue or work.
#pragma once

#include "hipq/client/enqueue.hpp"
#include "hipq/client/worker.hpp"

namespace hipq::client {

struct Enqueued {
    std::int64_t id;
    std::string type;
    std::optional<std::string> key;
    Json data;
    std::string scheduled_run_time;
};

// The waiting jobs, also those of the connection's open transaction, in the order of their ids.
inline std::vector<Enqueued> enqueued(PGconn *connection, const Value &type = {},
                                      const Value &queue = {})
{
    const Result rows =
        run(connection, {"SELECT id, job_type, nullif(job_key, 'NONE') AS job_key, job_data, "
                         "scheduled_run_time FROM hipq.enqueued($1::text, $2::text) AS waiting "
                         "ORDER BY waiting.id",
                         {type, queue}});
    std::vector<Enqueued> waiting;
    for (int row = 0; row < rows.rows(); ++row)
        waiting.push_back({rows.number(row, "id"), rows.text(row, "job_type"),
                           rows.get(row, "job_key"), Json::parse(rows.text(row, "job_data")),
                           rows.text(row, "scheduled_run_time")});
    return waiting;
}

namespace detail {

inline bool is_busy(PGconn *connection, const std::string &queue)
{
    return run(connection,
               {"SELECT EXISTS (SELECT FROM hipq.jobs_detail WHERE queue = $1 AND state <> "
                "'final' AND scheduled_run_time <= hipq.now()) AS busy",
                {queue}})
               .text(0, "busy") == "t";
}

}  // namespace detail

// Has a worker run all due jobs of a queue, and stops it. Throws the worker's exceptions, or an
// exception after the time limit. The role of the connection must have the right to read the queue.
inline void run_until_idle(Worker &worker, PGconn *connection, const std::string &queue,
                           std::chrono::milliseconds longest = std::chrono::seconds(10))
{
    const auto end = std::chrono::steady_clock::now() + longest;
    std::future<void> running = std::async(std::launch::async, [&worker] { worker.run(false); });
    bool is_late = false;
    while (!is_late && detail::is_busy(connection, queue) &&
           running.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout)
        is_late = std::chrono::steady_clock::now() > end;
    is_late ? worker.give_back() : worker.stop();
    running.get();
    if (is_late)
        throw Error("jobs of queue \"" + queue + "\" have not ended in time");
}

}  // namespace hipq::client
