// Jobs whose end hipq cannot write because of a database error that recurs. hipq leaves each of
// them unchanged and lists it in hipq.set_aside until an operator ends it or its state changes for
// another reason.
//
// All functions need a transaction.
#pragma once

#include "catalog/cache.hpp"
#include "job/finish.hpp"

namespace hipq::job {

// running|error -> error, without a decision: the row keeps the failure of the attempt beside the
// error that prevented writing its end. Runs in a transaction of its own, so that nothing else can
// make it fail. False: the job no longer belongs to this attempt.
[[nodiscard]] bool set_aside(const catalog::Queue &queue, const ClaimedJob &job,
                             const Failure &failure, const pg::Error &trouble, pg::Time now);

// The same for a waiting job, whose row is not changed.
void note_set_aside(const catalog::Queue &queue, std::int64_t id, const pg::Error &trouble,
                    pg::Time now);

// Sets a dead letter aside whose handler cannot be called. It is tried again after ten minutes.
void set_letter_aside(const catalog::Queue &queue, std::int64_t id, const pg::Error &trouble,
                      pg::Time now);

// Writes to the server log; view hipq.alerts reads the table.
void report_set_aside(const catalog::Queue &queue, std::int64_t id, const pg::Error &trouble);

// The error that prevented writing its end, as long as the job is unchanged since it was set aside.
std::optional<std::string> why_set_aside(const catalog::Queue &queue, std::int64_t id);

// Waiting jobs of a queue that are set aside.
std::set<std::int64_t> waiting_set_aside(const catalog::Queue &queue);

// Jobs that are set aside and unchanged since then, in all queues that can be read at once.
struct SetAside {
    int queue_id;
    std::int64_t job_id;
    pg::Time since;
    std::string error;
};
std::vector<SetAside> jobs_set_aside(const catalog::Catalogue &catalogue);

// Deletes the rows of jobs that have changed since, and of dead letters that are to be tried again.
void prune_set_aside(const catalog::Catalogue &catalogue, pg::Time now);

// A condition for statements over a live leaf whose row is named "job".
#define HIPQ_IS_SET_ASIDE                                                                          \
    "EXISTS (SELECT FROM hipq.set_aside AS aside"                                                  \
    " WHERE aside.job_id = job.id AND aside.attempt = job.attempt AND aside.state = job.state)"

}  // namespace hipq::job
