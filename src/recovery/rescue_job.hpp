// Rescues one job that nobody has in flight any more.
#pragma once

#include "recovery/rescue.hpp"

namespace hipq::recovery {

// What became of a job within a transaction.
enum class Fate : unsigned char {
    resolved,
    asks,     // stands in `error`; its retry handler is to be asked once that is committed
    stays,    // as it is: it has been given more time, or ended in another way, just now
    gone,     // nothing was left of that attempt
    held,     // somebody has its row locked, or there is no room for it in shared memory
    put_off,  // the queue's tables are locked, or an error was against them
    crowded,  // asks, but the list of decisions is full
    failed,
};

// By being rescued.
bool has_ended(Fate fate);

bool is_with_worker(LeftBy by);

// Back into its lane, to a retry decision, or to its end. Needs a transaction; raises what the
// statements raise.
Fate rescue_job(const catalog::Queue &queue, const Left &left);

}  // namespace hipq::recovery
