// All statements of hipq-top, and nothing else: queries and actions.
//
// No statement reads more of a queue than a page, or takes more than some milliseconds with 500
// queues and a million jobs. So jobs are read from the table of their queue, which has the rights
// of the queue; planning the view hipq.jobs, over all queues, takes seconds with 500 queues.
#pragma once

#include "hipq/client/statement.hpp"

#include <string>
#include <vector>

namespace hipq::top {

using client::Statement;

// A queue, with its name in hipq.activity.
struct QueueName {
    std::string name;   // app.mail
    std::string table;  // hipq.app_mail, quoted for SQL
};

// Which jobs of a queue.
enum class JobKind { newest, unfinished, running, failed };

// The jobs of a page: those after a key, in the order of the kind.
struct JobPage {
    JobKind kind = JobKind::newest;
    std::string after;     // id of the last job of the previous page; empty: the first page
    std::string job_type;  // empty: all
    int lines = 50;
};

namespace statements {

// ---- queries

Statement settings();
Statement prepare_session();
Statement top(const std::string &sort, int lines);  // lines < 0: all
Statement queue_of_job(const std::string &id);
Statement table_of_queue(const std::string &queue);

Statement activity_of(const QueueName &queue);
// How many of its jobs wait for other jobs, counted up to most_held.
inline constexpr int most_held = 10'000;
Statement held_in(const QueueName &queue);
Statement types_of(const QueueName &queue);
Statement pauses_of(const QueueName &queue);
Statement fillers_of(const QueueName &queue);

Statement jobs_of(const QueueName &queue, const JobPage &page);
Statement jobs_by_id(const QueueName &queue, const std::string &id);
Statement jobs_by_key(const QueueName &queue, const std::string &key);

Statement job(const QueueName &queue, const std::string &id);
Statement why(const QueueName &queue, const std::string &id);
Statement attempts(const QueueName &queue, const std::string &id);
Statement log(const QueueName &queue, const std::string &id);
Statement dead_letter(const QueueName &queue, const std::string &id);
Statement progress(const std::string &id);
Statement waits(const std::string &id);

// The newest graphs, with counts of up to most_counted of their jobs; the jobs of the graph with
// this id, or that has the job with this id.
inline constexpr int most_counted = 200;
inline constexpr int most_graph_jobs = 2'000;
Statement graphs();
Statement graph_jobs(const std::string &id);

Statement workers();
Statement executors();
Statement dead_letters(const QueueName &queue, const std::string &state);
Statement schedules();
Statement alerts();
Statement all_settings();
Statement waiting_dead_letters(const QueueName &queue, const std::string &job_type,
                               const std::string &before);

// ---- actions

// Empty job types and throttle keys mean all.
Statement pause(const std::string &queue, const std::string &job_type,
                const std::string &throttle_key, const std::string &reason);
Statement resume(const std::string &queue, const std::string &job_type,
                 const std::string &throttle_key);
Statement cancel(const QueueName &queue, const std::string &id);
Statement retry(const QueueName &queue, const std::string &id);
Statement redrive(const std::string &id);
Statement dismiss(const std::string &id);
// Dead letters of a job type from before a time; empty: all types, any time.
Statement redrive_some(const QueueName &queue, const std::string &job_type,
                       const std::string &before);
Statement drain_worker(const std::string &worker_id);

}  // namespace statements

}  // namespace hipq::top
