// Rescues jobs that no process has in flight any more: back into the lane, to a retry decision, or
// to the end.
#pragma once

#include "recovery/left_jobs.hpp"

namespace hipq::recovery {

// Why a job was left, and so what is to blame.
enum class LeftBy : unsigned char {
    restart,        // the server stopped or is stopping: the row says that the job runs
    neighbour,      // another job took the server down while this one ran
    crash,          // the job took the server down
    lost_executor,  // its executor ended
    // An external worker has the job:
    late_worker,    // the worker did not accept or end it in time
    lost_worker,    // the worker is gone
    silent_worker,  // the worker was not heard from for too long
    mute_worker,    // the worker does not answer, though its session is there, and has not accepted
                    // it
    draining_worker,  // the worker takes no more jobs, and has not accepted it
    revoked_worker,   // the worker's role lost the work privilege on the queue
};

// An attempt whose process or worker left it.
struct Left {
    int queue_id;
    std::int64_t id;
    int attempt;  // 0: its retry handler was running
    LeftBy by;
    bool is_orphan;  // no other process can take it before executors::release_orphan()
    pg::Time started;
    int pid;                           // of the process that ran it; 0: not known
    bool asked_retry_handler = false;  // the retry handler ran when the executor ended
    bool timed_out = false;            // its code was past its deadline
    std::optional<std::string>
        cancelled{};             // the error that it ends with if it was to be cancelled
    std::int64_t worker_id = 0;  // the external worker that has it
    bool was_accepted = false;   // by that worker
    bool has_ended = false;      // by the rescue
};

// Jobs that could not be rescued at once, by id, with the time of the next try.
struct Postponed {
    pg::Time until;
    int failures;
};
using PostponedJobs = std::map<std::int64_t, Postponed>;

bool is_postponed(const PostponedJobs &postponed, std::int64_t id, pg::Time now);

// What became of the jobs. Each job is in one of the two lists.
struct BroughtHome {
    std::vector<Left> home;  // including jobs whose attempt had left nothing
    std::vector<Left> postponed;
};

// The number of jobs found, and rescued, at once.
inline constexpr std::size_t jobs_at_once = 500;

// Takes the first jobs of one queue off a list and rescues them in its own transactions. All share
// one transaction; if it fails, each job gets its own. A job that fails even then is set aside for
// a while, as is a job whose row another session holds. Raises if the server has no room or wants
// the process to stop.
BroughtHome rescue_first(PostponedJobs &postponed, std::vector<Left> &list);

// Uses its own transaction.
std::shared_ptr<const catalog::Catalogue> read_catalogue();

}  // namespace hipq::recovery
