// Rows of hipq.dead_letter, which nobody but the extension owner may touch: from the failure that
// writes one to whoever handles, redrives, dismisses or removes it.
//
// All need a transaction.
#pragma once

#include "job/finish.hpp"

namespace hipq::job {

// Writes the dead letter of a job that is final now; a reduced one if the whole one cannot be
// written. It awaits the queue's handler if there is one, unless a handler of dead letters has made
// the job: so it never goes round in circles. The scheduler is told at the commit.
void add_dead_letter(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
                     pg::Time now);

// The numbers of all queues, for who looks for a dead letter by its job alone: its index begins
// with the queue.
std::vector<std::int64_t> queue_ids(const catalog::Catalogue &catalogue);

// The queue that has the dead letter of a job; null: there is none as far as the caller may know.
const catalog::Queue *find_queue_of_letter(const catalog::Catalogue &catalogue, std::int64_t id);

// Notes that jobs of a queue were enqueued again as others.
void note_redriven(const catalog::Queue &queue, const std::vector<std::int64_t> &job_ids,
                   const std::vector<std::int64_t> &new_ids, pg::Time now);

// Removes the oldest ones beyond dead_letter_max, at most `limit`; returns how many.
std::int64_t prune_surplus_dead_letters(const catalog::Queue &queue, int limit);

// ---- the handler

// Whether any awaits the queue's handler, held by somebody or not, and whether one is not set
// aside. Those whose handler is to be called again by now await it, too; later ones have a time. A
// paused queue's wait.
struct AwaitingLetters {
    bool any = false;
    bool any_free = false;
    pg::Time next_retry = pg::infinity;
};
AwaitingLetters letters_to_handle(const catalog::Queue &queue, pg::Time now);

// Has the queue's handler called for dead letters that nobody has done anything about, as for new
// ones. Not for those whose handler failed, nor for those of jobs that a handler made.
void await_handler(const catalog::Queue &queue);

// A dead letter whose handler may be called now.
struct BegunLetter {
    int queue_id;
    std::int64_t job_id;
    int start;    // how often it was begun, with this time
    int retries;  // how often for an error that passes
};

struct HandlerFailure {
    std::string sqlstate;
    std::string error;
};

// Counts a start of the handler on the next dead letter, by priority, that awaits it and that
// nobody else has in flight. The count is to be durable before the handler runs: one that takes its
// process or the server down is not called for ever. Nothing: there is none, or the queue is
// paused. `chosen` is its job, also when an error is against it.
std::optional<BegunLetter> begin_handling(const catalog::Queue &queue, std::int64_t &chosen);

// Locks it until the transaction ends, and gives the job as it died. Nothing: it is not as it was.
std::optional<ClaimedJob> take_letter(const BegunLetter &letter);

// The handler has succeeded; in its transaction.
void note_handled(const BegunLetter &letter, pg::Time now);

// The handler has failed. It is called again only if the error may pass, later and for a number of
// times.
void note_handler_failure(const BegunLetter &letter, const HandlerFailure &failure, pg::Time now);

}  // namespace hipq::job
