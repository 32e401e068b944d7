// All statements of hipq-web: the only place with names of hipq's views, columns and functions.
//
// No statement reads more jobs than it shows, or counts them: figures come from shared memory and
// the catalogue. Jobs are read from their queue's own table, because for the view hipq.jobs the
// planner examines each table of each queue, which with 500 queues takes longer than reading a
// page.
//
// {0.3? A : B} is A, or B with an older extension (program/extension.hpp).
#pragma once

#include <string>

namespace hipq::web::statements {

// The signed-in role, and its server: one row.
extern const char *const identity;
// The first row has no name and the figures of all queues; then one row for each queue: its name,
// its JSON.
extern const char *const overview;
// The numbers of alerts: one row, a JSON object.
extern const char *const alert_counts;
// $1: a queue, or NULL for all.
extern const char *const throughput;

// Lists.
extern const char *const queues;     // $1: a queue, or NULL for all
extern const char *const job_types;  // $1: a queue, or NULL for all
extern const char *const workers;
extern const char *const executors;
extern const char *const schedules;
extern const char *const pauses;  // $1: a queue, or NULL for all
extern const char *const alerts;
extern const char *const doctor;
extern const char *const settings;

// For one queue, $1.
extern const char *const queue_rights;  // one row, a JSON object
extern const char *const queue_statistics;
extern const char *const queue_fillers;
extern const char *const queue_held;
extern const char *const queue_pace;
extern const char *const queue_failures;
extern const char *const queue_sizes;

// The queues to search for jobs, always in the same order: name, the name as a literal, table,
// whether its jobs may be read. $1: a queue, or NULL for all.
extern const char *const searched_queues;
// The jobs that executors run, as bigint[].
extern const char *const running_jobs;
// filled() replaces {queue} and {table}, for which see searched_queues.
extern const char *const job_line;    // columns and table of a search; conditions follow
extern const char *const job_bounds;  // least and greatest id
extern const char *const job_is_in;   // the queue, if job $1 is in it
extern const char *const job_page;    // job $1; $2: the running jobs

// For one job: $1; in a queue: $2.
extern const char *const job_attempts;
extern const char *const job_log;
extern const char *const job_why;
extern const char *const job_chain;
extern const char *const job_progress;
extern const char *const job_running;
extern const char *const job_dead_letter;

// Actions on one job: $1; each returns one value.
extern const char *const cancel;      // $2: why
extern const char *const retry;       // $2: why
extern const char *const reschedule;  // $2: the time
extern const char *const redrive;
extern const char *const dismiss;

// $1: queue, $2: job type, $3: reason, $4: maximum number.
extern const char *const redrive_many;
extern const char *const dismiss_many;

extern const char *const dead_letter_groups;
// $1: queue, $2: job type, $3: reason, $4: state, $5 and $6: time and id after which to continue,
// $7: maximum number.
extern const char *const dead_letters;

// Graphs, the newest first: those older than $1, or all; $2: maximum number.
extern const char *const graphs;
// Jobs of graph $1, $2 of them at most, by id; and the graph of job $1, with its name there.
extern const char *const graph_jobs;
extern const char *const graph_of_job;
// Batches, the newest first: those older than $1, or all; $2: maximum number.
extern const char *const batches;

// $1: queue, $2: job type, $3: throttle key, $4: instance; pause: $5: why.
extern const char *const pause;
extern const char *const resume;

std::string filled(std::string statement, const std::string &queue, const std::string &table);

}  // namespace hipq::web::statements
