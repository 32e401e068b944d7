// Rescues jobs after a crash of their process, of the server or of a worker; what other rooms may
// use.
#pragma once

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"
#include "retry/retry.hpp"

namespace hipq::recovery {

// ---- rescue ----

// Why a job was left, and so what is to blame.
enum class LeftBy : unsigned char {
    restart,        // the server stopped or is stopping: the row says that the job runs
    neighbour,      // another job took the server down while this one ran
    crash,          // the job took the server down
    lost_executor,  // its executor ended
    // An external worker has the job, or is offered it:
    late_offer,      // the worker did not accept it in time
    late_worker,     // the worker did not end it in time
    lost_worker,     // the worker is gone
    silent_worker,   // the worker was not heard from for too long
    revoked_worker,  // the worker's role lost the work privilege on the queue
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
    bool has_ended = false;      // by the rescue
};

// Jobs that could not be rescued at once, by id, with the time of the next try.
struct Postponed {
    pg::Time until;
    int failures;
};
using PostponedJobs = std::map<std::int64_t, Postponed>;

// Uses its own transaction.
std::shared_ptr<const catalog::Catalogue> read_catalogue();

// ---- reclaim ----

// The state that a scheduler keeps between calls.
struct TakingBack {
    PostponedJobs postponed;
    pg::Time reports_since{0};  // start of the interval in which `reports` jobs that were not
                                // accepted in time were logged and `unreported` were not
    int reports = 0;
    int unreported = 0;
};

// Uses its own transactions. Returns when to call it again.
pg::Time reclaim(TakingBack &taking);

// Returns when the next worker loses its jobs if it stays silent. The scheduler calls this after a
// dispatch, because a worker that had no job may have one now.
pg::Time next_loss(pg::Time now);

// Forgets jobs that were dropped with their queues, so that their workers have room again.
void forget_jobs_of_dropped_queues(const catalog::Catalogue &catalogue);

// ---- recover ----

// How far a scheduler has come.
struct Recovery {
    std::optional<unsigned> reads_for;  // databases::recovery_due() when it began to read the
                                        // leaves; nothing if it does not read
    unsigned has_read_for = 0;          // the value of reads_for of the last complete read
    std::vector<int> queues;            // queues whose live leaves are still to be read, last first
    std::vector<int> unread{};          // queues that could not be read the last time
    int queue = 0;                      // the queue being read
    std::int64_t page = 0;
    std::int64_t end_page = 0;
    std::vector<Left> found;
    std::vector<Left> later;
    PostponedJobs postponed;
    std::int64_t pause = 0;  // how long the scheduler's other work took since the last call; us
};

// Works for a moment, and at least as long as the other work took, in its own transactions.
// (Looking at a lane that begins with many rows in `running` takes long, and this makes them
// fewer.) Rescues first the jobs that slots of ended executors and the flight recorder name; then
// reads the live leaves piece by piece. Returns when to call it again: at once while there is more
// to read, infinity when nothing is left.
pg::Time recover(Recovery &recovery);

// ---- resolve external ----

// Returns how jobs end that were meant for one worker and could not be offered to it in time: as if
// it had been offered them and had not accepted them. Needs a transaction.
job::Failure expiry_of_aim(const catalog::Queue &queue, const std::string &worker, pg::Time now);

// ---- suspects ----

// Closes cases whose jobs ended without running again. Uses its own transaction if there are cases.
void forget_stale_cases();

// ---- type crashes ----

// Forgets the crashes of a type, because it has other handlers now. Needs a transaction.
void forget_type_crashes(int queue_id, std::string_view job_type);

// Forgets the crashes of a queue's handler of dead letters, so that it is called again. Returns
// whether it was held or had any crashes against it. Needs a transaction.
bool forget_dead_letter_crashes(int queue_id);

}  // namespace hipq::recovery
