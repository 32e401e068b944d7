// Rows of hipq.dead_letter, which only the extension owner may access: writing one at the failure
// of a job, handling, redriving, dismissing and deleting it.
//
// All functions need a transaction.
#pragma once

#include "catalog/cache.hpp"
#include "job/finish.hpp"

namespace hipq::job {

// Whether the failure of a job leaves a dead letter. A job that was not wanted any more leaves
// none. Nor does one that could not start: the dead letter of the job before it stands for both.
bool leaves_dead_letter(const catalog::Queue &queue, core::Reason reason);

// Writes the dead letter of a job that has just become final; a reduced one if the whole one cannot
// be written. It awaits the queue's handler, if there is one, unless a handler of dead letters has
// made the job, which prevents endless cycles. The scheduler is notified at commit.
void add_dead_letter(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
                     pg::Time now);

// The numbers of all queues, for searching a dead letter by its job only: the index begins with the
// queue.
std::vector<std::int64_t> queue_ids(const catalog::Catalogue &catalogue);

// The queue that has the dead letter of a job; null: there is none that the caller may know of.
const catalog::Queue *find_queue_of_letter(const catalog::Catalogue &catalogue, std::int64_t id);

// Records that jobs of a queue were enqueued again as new jobs.
void note_redriven(const catalog::Queue &queue, const std::vector<std::int64_t> &job_ids,
                   const std::vector<std::int64_t> &new_ids, pg::Time now);

// Deletes the oldest dead letters beyond dead_letter_max, at most `limit`; returns their number.
std::int64_t prune_surplus_dead_letters(const catalog::Queue &queue, int limit);

// ---- the handler

// Whether a dead letter awaits the queue's handler, locked or not; whether one of them is not set
// aside; and when the next retry is due. Letters whose retry is due by now await the handler, too.
// Letters of a paused queue wait.
struct AwaitingLetters {
    bool any = false;
    bool any_free = false;
    pg::Time next_retry = pg::infinity;
};
AwaitingLetters letters_to_handle(const catalog::Queue &queue, pg::Time now);

// Makes the queue's handler run also for older dead letters that have not been dealt with. Skips
// letters whose handler has failed and letters of jobs that a handler has made.
void await_handler(const catalog::Queue &queue);

// A dead letter whose handler may be called now.
struct BegunLetter {
    int queue_id;
    std::int64_t job_id;
    int start;    // how often the handler was started, this time included
    int retries;  // how many of these were retries after a transient error
};

struct HandlerFailure {
    std::string sqlstate;
    std::string error;
};

// Counts a start of the handler on the next dead letter, by priority, that awaits it and is not
// locked by another process. The count must be durable before the handler runs, so that a handler
// that takes its process or the server down is not called forever. Returns nothing if there is no
// such letter or the queue is paused. `chosen` is the job of the letter, also if an error is
// raised.
std::optional<BegunLetter> begin_handling(const catalog::Queue &queue, std::int64_t &chosen);

// Locks the letter until the transaction ends, and returns the job as it died. Nothing: the letter
// has changed.
std::optional<ClaimedJob> take_letter(const BegunLetter &letter);

// Records that the handler has succeeded, in the handler's transaction.
void note_handled(const BegunLetter &letter, pg::Time now);

// Records that the handler has failed. It is called again only for a transient error, later, and a
// limited number of times.
void note_handler_failure(const BegunLetter &letter, const HandlerFailure &failure, pg::Time now);

}  // namespace hipq::job
