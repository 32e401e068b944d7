// Jobs of which hipq cannot write down what became of them: a database error is against it, time
// and again. Each is left alone as it stands, named in hipq.set_aside, until an operator ends it,
// or it stands otherwise for some other reason.
//
// All need a transaction.
#pragma once

#include "job/finish.hpp"

namespace hipq::job {

// running|error -> error, without a decision: what the attempt failed with stays in the row beside
// the error that was against writing its end. Its own transaction, so that nothing else can stand
// against it. False: not this attempt's any more.
bool set_aside(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
               const pg::Error &trouble, pg::Time now);

// The same for a job that waits, which stays as it is.
void note_set_aside(const catalog::Queue &queue, std::int64_t id, const pg::Error &trouble,
                    pg::Time now);

// A dead letter whose handler cannot be called: it is tried again after ten minutes.
void set_letter_aside(const catalog::Queue &queue, std::int64_t id, const pg::Error &trouble,
                      pg::Time now);

// Tells the log; view hipq.alerts reads the table.
void report_set_aside(const catalog::Queue &queue, std::int64_t id, const pg::Error &trouble);

// The error that was against it, as long as the job stands as it was set aside.
std::optional<std::string> why_set_aside(const catalog::Queue &queue, std::int64_t id);

// Waiting jobs of a queue that are set aside.
std::set<std::int64_t> waiting_set_aside(const catalog::Queue &queue);

// Jobs that are set aside and still stand as they did then, of all queues that can be read at once.
struct SetAside {
    int queue_id;
    std::int64_t job_id;
    pg::Time since;
    std::string error;
};
std::vector<SetAside> jobs_set_aside(const catalog::Catalogue &catalogue);

// Forgets those that stand otherwise by now, and dead letters that are to be tried again.
void prune_set_aside(const catalog::Catalogue &catalogue, pg::Time now);

// What statements over a live leaf, whose row is named "job", say of it. A condition.
#define HIPQ_IS_SET_ASIDE                                                                          \
    "EXISTS (SELECT FROM hipq.set_aside AS aside"                                                  \
    " WHERE aside.job_id = job.id AND aside.attempt = job.attempt AND aside.state = job.state)"

}  // namespace hipq::job
