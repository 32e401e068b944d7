// Rescues jobs that nobody has in flight any more: back into its lane, to the one who decides about
// them, or to their end.
#pragma once

#include "recovery/left_jobs.hpp"

namespace hipq::recovery {

// Why a job is left, and so who is to blame.
enum class LeftBy : unsigned char {
    restart,        // the server's last life, or one that is ending: its row says that it runs
    neighbour,      // somebody else took the server down while it ran
    crash,          // it took the server down
    lost_executor,  // its executor ended
    // An external worker has it:
    late_worker,      // that did not accept or end it in time
    lost_worker,      // that is gone
    silent_worker,    // that was not heard of for too long
    mute_worker,      // that does not answer, though its session is there, and has not accepted it
    draining_worker,  // that takes no more jobs, and has not accepted it
    revoked_worker,   // whose role may not work on the queue any more
};

// An attempt that somebody left.
struct Left {
    int queue_id;
    std::int64_t id;
    int attempt;  // 0: its retry handler was being asked
    LeftBy by;
    bool is_orphan;  // nobody else can take it before executors::release_orphan()
    pg::Time started;
    int pid;                                 // of the process that ran it; 0: not known
    bool asked_retry_handler = false;        // that one ran when the executor ended
    bool timed_out = false;                  // its code was past its deadline
    std::optional<std::string> cancelled{};  // it was to be cancelled: what it ends with
    std::int64_t worker_id = 0;              // the external worker that has it
    bool was_accepted = false;               // by that
    bool has_ended = false;                  // by being rescued
};

// Jobs that could not be rescued at once, by id, and when they are tried again.
struct Postponed {
    pg::Time until;
    int failures;
};
using PostponedJobs = std::map<std::int64_t, Postponed>;

bool is_postponed(const PostponedJobs &postponed, std::int64_t id, pg::Time now);

// What became of some jobs. Each is in one of them.
struct BroughtHome {
    std::vector<Left> home;  // also those of whose attempt nothing was left
    std::vector<Left> postponed;
};

// So many are found, and rescued, at once.
inline constexpr std::size_t jobs_at_once = 500;

// Takes the first jobs of one queue off a list and rescues them, in its own transactions: all
// share one; when it fails each gets its own, and a job that fails even so is set aside for a
// while, as is one whose row somebody else holds. Raises when the server has no room or wants the
// process to stop.
BroughtHome rescue_first(PostponedJobs &postponed, std::vector<Left> &list);

// In its own transaction.
std::shared_ptr<const catalog::Catalogue> read_catalogue();

}  // namespace hipq::recovery
