// Rescues one job that no process has in flight any more.
#pragma once

#include "catalog/cache.hpp"
#include "recovery/rescue.hpp"

namespace hipq::recovery {

// What became of a job in a transaction.
enum class Fate : unsigned char {
    resolved,
    asks,     // in `error`; its retry handler is to be called after the commit
    stays,    // as it is: it has just been given more time, or ended in another way
    gone,     // nothing was left of that attempt
    held,     // another session has its row locked, or shared memory has no room for it
    put_off,  // the queue's tables are locked, or an error prevented it
    crowded,  // like `asks`, but the list of decisions is full
    failed,
};

// Returns whether the rescue ended the attempt.
bool has_ended(Fate fate);

bool is_with_worker(LeftBy by);

// Rescues a job: back into the lane, to a retry decision, or to the end. Needs a transaction.
// Raises the errors of its statements.
Fate rescue_job(const catalog::Queue &queue, const Left &left);

}  // namespace hipq::recovery
